"""What training starts from: a file that is named, else the capture's points, else silhouettes, else random points in common view."""

from __future__ import annotations

from collections.abc import Callable
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
from ..data.sfm.run import Progress, SfmOptions
from ..data.sfm.triangulate import triangulate
from ..distributed import checkpoint
from ..renderers.splats.initialise import common_view, from_points, sees
from .export import in_world_frame
from .run_folder import RunFolder
from .train import TrainOptions
from .training_state import splats_of

FEW_POINTS = 100


def first_gaussians(
    scene: Scene,
    cache: ImageCache,
    options: TrainOptions,
    seed: int,
    has_alpha: bool,
    say: Callable[[str], None],
    working: Progress | None = None,
) -> Gaussians:
    """At most `options.max_gaussians` splats in world coordinates."""
    if options.init is not None:
        g = from_file(Path(options.init), scene, options, say)
    else:
        g = _from_points(_points(scene, cache, options, seed, has_alpha, say, working), scene, options)
    if len(g) > options.max_gaussians:
        say(f"starting from {options.max_gaussians} of {len(g)} Gaussians (train.max_gaussians)")
        g = g.select(np.sort(np.random.Generator(np.random.Philox(seed)).permutation(len(g))[: options.max_gaussians]))
    return g


def from_file(path: Path, scene: Scene, options: TrainOptions, say: Callable[[str], None]) -> Gaussians:
    """A splat file (input coordinates), a point cloud, or a run folder."""
    if path.is_dir():
        found, _ = checkpoint.latest(RunFolder(path).checkpoints)
        if found is None:
            raise InputError(f"train.init={path}: the folder holds no whole checkpoint")
        g = splats_of(found).gaussians()
        say(f"starting from {len(g)} Gaussians of {found.path} (its optimizer is not continued; that is resume=true)")
        return g
    if not path.exists():
        raise InputError(f"train.init={path}: there is no such file")
    if path.suffix.lower() == ".ply" and kind_of(read_header(path)) in (PlyKind.POINTS, PlyKind.MESH):
        xyz, rgb = read_points_ply(path)
        say(f"starting from {len(xyz)} points of {path.name}")
        return _from_points(Points(scene.frame.to_world(xyz.astype(np.float64)), rgb), scene, options)
    g = in_world_frame(read_splats(path), scene.frame)
    finite = g.finite()
    if g.degree > options.sh_degree:
        say(f"{path.name} has spherical harmonics of degree {g.degree}; train.sh_degree={options.sh_degree} cuts them")
    if not finite.all():
        say(f"warning: {int((~finite).sum())} Gaussians of {path.name} are not finite and are left out")
    say(f"starting from {int(finite.sum())} Gaussians of {path.name} (spherical harmonics of degree {g.degree})")
    return g.select(finite)


def _from_points(points: Points, scene: Scene, options: TrainOptions) -> Gaussians:
    return from_points(points, scene.extent, options.sh_degree, options.init_opacity, options.init_scale)


def _points(
    scene: Scene,
    cache: ImageCache,
    options: TrainOptions,
    seed: int,
    has_alpha: bool,
    say: Callable[[str], None],
    working: Progress | None = None,
) -> Points:
    cameras = [v.camera for v in scene.train_views]
    finite = np.isfinite(scene.points.xyz).all(1)
    points = Points(scene.points.xyz[finite], scene.points.rgb[finite])
    if len(points):
        visible = np.any([sees(c, points.xyz) for c in cameras], axis=0)
        if not visible.any():
            raise InputError(
                f"none of the {len(points)} points lies in front of a camera: the poses and the points are not of one frame, "
                "or the camera axes are wrong (transforms.json wants OpenGL axes, COLMAP's are OpenCV)"
            )
        if not visible.all():
            say(f"{int((~visible).sum())} of {len(points)} points are in no photo and are left out")
        points = Points(points.xyz[visible], points.rgb[visible])
    if len(points) >= FEW_POINTS:
        say(f"starting from the capture's {len(points)} points")
        return points
    if has_alpha:
        hull = visual_hull(cameras, [cache.get(v) for v in scene.train_views])
        if hull is not None and len(hull) >= FEW_POINTS:
            chosen = np.random.Generator(np.random.Philox(seed)).permutation(len(hull))[: options.init_points]
            say(f"starting from {len(chosen)} points on the visual hull of the silhouettes")
            return Points(hull.xyz[np.sort(chosen)], hull.rgb[np.sort(chosen)])
    if options.triangulate and len(cameras) > 1 and not has_alpha:
        say(
            "the capture has no points: matching its photos to find some (train.triangulate=false starts from random ones)"
        )
        try:
            found = triangulate(
                scene.train_views, [cache.get(v) for v in scene.train_views], SfmOptions(), progress=working
            )
        except InputError as error:
            say(f"warning: no points could be triangulated: {error}")
        else:
            if len(found) >= FEW_POINTS:
                say(f"starting from {len(found)} triangulated points")
                return found
    filler = common_view(cameras, options.init_points, seed, scene.extent)
    say(f"warning: the capture has {len(points)} points; adding {len(filler)} random ones where the cameras look")
    return Points(np.concatenate([points.xyz, filler.xyz]), np.concatenate([points.rgb, filler.rgb]))
