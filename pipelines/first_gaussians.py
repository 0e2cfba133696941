"""What training starts from: a file that is named, else the capture's points, else silhouettes, else matched photos, else random points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..data.errors import InputError
from ..data.formats import read_splats
from ..data.formats.ply_elements import read_header
from ..data.formats.ply_kind import PlyKind, kind_of
from ..data.formats.ply_points import read_points_ply
from ..data.gaussians import Gaussians
from ..data.hull import visual_hull
from ..data.images.cache import ImageCache
from ..data.scene import Points, Scene
from ..data.sfm.run import SfmOptions
from ..data.sfm.triangulate import triangulate
from ..distributed import checkpoint
from ..renderers.splats.initialise import common_view, from_points, sees
from .export import in_input_frame, in_world_frame
from .loaded import of_checkpoint
from .logs.logger import Logger
from .run_folder import RunFolder
from .train import TrainOptions

FEW_POINTS = 100


@dataclass(frozen=True)
class FirstGaussians:
    """Where to look and how; `make` does it."""

    scene: Scene
    cache: ImageCache
    options: TrainOptions
    sfm: SfmOptions
    threads: int | None
    seed: int
    has_alpha: bool
    log: Logger

    def make(self) -> tuple[Gaussians, int]:
        """At most `options.max_gaussians` splats in world coordinates, and the degree of colour that they already know."""
        if self.options.init is not None:
            g, degree = self._from_file(Path(self.options.init))
        else:
            g, degree = self._from_points(self._points()), 0
        most = self.options.max_gaussians
        if len(g) > most:
            self.log.line(f"starting from {most} of {len(g)} Gaussians (train.max_gaussians)")
            g = g.select(np.sort(self._shuffled(len(g))[:most]))
        return g, degree

    def _from_file(self, path: Path) -> tuple[Gaussians, int]:
        """A splat file (input coordinates), a point cloud, or a run folder."""
        if not path.exists():
            raise InputError(f"train.init={path}: there is no such file")
        if path.is_dir():
            found, warnings = checkpoint.latest(RunFolder(path).checkpoints)
            for warning in warnings:
                self.log.warn(warning)
            if found is None:
                raise InputError(f"train.init={path}: the folder holds no whole checkpoint")
            loaded = of_checkpoint(found)
            g = in_input_frame(loaded.splats.gaussians(), loaded.frame)
            self.log.line(f"starting from {found.path} (its optimizer is not continued; that is resume=true)")
        elif path.suffix.lower() == ".ply" and kind_of(read_header(path)) in (PlyKind.POINTS, PlyKind.MESH):
            xyz, rgb = read_points_ply(path)
            good = np.isfinite(xyz).all(1)
            if not good.any():
                raise InputError(f"train.init={path}: none of its {len(xyz)} points is finite")
            self.log.line(f"starting from {int(good.sum())} points of {path.name}")
            world = self.scene.frame.to_world(xyz[good].astype(np.float64))
            return self._from_points(Points(world, rgb[good])), 0
        else:
            g = read_splats(path)
        finite = g.finite()
        if not finite.any():
            raise InputError(f"train.init={path}: none of its {len(g)} Gaussians is finite")
        if not finite.all():
            self.log.warn(f"{int((~finite).sum())} Gaussians of {path.name} are not finite and are left out")
        if g.degree > self.options.sh_degree:
            self.log.line(
                f"{path.name} has colours of degree {g.degree}; train.sh_degree={self.options.sh_degree} cuts them"
            )
        self.log.line(
            f"starting from {int(finite.sum())} Gaussians of {path.name} (spherical harmonics of degree {g.degree})"
        )
        return in_world_frame(g.select(finite), self.scene.frame), min(g.degree, self.options.sh_degree)

    def _from_points(self, points: Points) -> Gaussians:
        o = self.options
        return from_points(points, self.scene.extent, o.sh_degree, o.init_opacity, o.init_scale)

    def _points(self) -> Points:
        scene, options = self.scene, self.options
        points = self._seen()
        if len(points) >= FEW_POINTS:
            self.log.line(f"starting from the capture's {len(points)} points")
            return points
        views = scene.train_views
        cameras = [v.camera for v in views]
        if self.has_alpha:
            hull = visual_hull(cameras, lambda i: self.cache.get(views[i]))
            if hull is not None and len(hull) >= FEW_POINTS:
                chosen = np.sort(self._shuffled(len(hull))[: options.init_points])
                self.log.line(f"starting from {len(chosen)} points on the visual hull of the silhouettes")
                return Points(hull.xyz[chosen], hull.rgb[chosen])
        if options.triangulate and len(cameras) > 1:
            points = joined(points, self._matched())
            if len(points) >= FEW_POINTS:
                self.log.line(f"starting from {len(points)} points, triangulated from the photos")
                return points
        filler = common_view(cameras, options.init_points, self.seed, scene.extent)
        self.log.warn(
            f"there are {len(points)} points to start from; adding {len(filler)} random ones where the cameras look"
        )
        return joined(points, filler)

    def _seen(self) -> Points:
        """The capture's own points that a training photo shows; InputError if there are some and none is shown."""
        points = self.scene.points
        finite = np.isfinite(points.xyz).all(1)
        points = Points(points.xyz[finite], points.rgb[finite])
        if not len(points):
            return points
        visible = np.any([sees(v.camera, points.xyz) for v in self.scene.train_views], axis=0)
        if not visible.any():
            raise InputError(
                f"none of the {len(points)} points lies in front of a camera: the poses and the points are not of one frame, "
                "or the camera axes are wrong (transforms.json wants OpenGL axes, COLMAP's are OpenCV)"
            )
        if not visible.all():
            self.log.line(f"{int((~visible).sum())} of {len(points)} points are in no training photo and are left out")
        return Points(points.xyz[visible], points.rgb[visible])

    def _matched(self) -> Points:
        """Points triangulated from the training photos with their poses fixed; none, with a warning, where that fails."""
        self.log.line("few points: matching the photos to find more (train.triangulate=false starts from random ones)")
        views = self.scene.train_views
        try:
            return triangulate(
                views, lambda i: self.cache.get(views[i]), self.sfm, self.threads or -1, self.log.working
            )
        except InputError as error:
            self.log.warn(f"no points could be triangulated: {error}")
            return Points(np.zeros((0, 3)), np.zeros((0, 3), np.uint8))

    def _shuffled(self, count: int) -> np.ndarray:
        return np.random.Generator(np.random.Philox(self.seed)).permutation(count)


def joined(a: Points, b: Points) -> Points:
    return Points(np.concatenate([a.xyz, b.xyz]), np.concatenate([a.rgb, b.rgb]))
