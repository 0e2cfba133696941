"""Turns the still life into an ordinary capture on disk: pictures, exact depth, poses and a sparse point cloud.

images/000.png ...   sRGB, 8 bit
depth/000.png ...    16 bit, z along the viewing axis in steps of `depth_unit_scale_factor`
points.ply           coloured points on visible surfaces, with the small errors that triangulation makes
transforms.json      nerfstudio's flavour: OpenGL camera-to-world, one pinhole for all
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .. import philox
from .cameras import Orbit, orbit
from .light import light_map, pictures, workers
from .still_life import still_life

DEPTH_UNIT = 1e-4
_POINT_NOISE = 0.7  # standard deviation in pixels, seen from the view that the point was taken from
_OPENGL = np.diag([1.0, -1.0, -1.0, 1.0])


def write_capture(
    folder: Path,
    width: int,
    views: int,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Renders the demo into an existing empty folder. `progress` is told in a few lines how far it is."""
    from PIL import Image

    tell = progress or (lambda line: None)
    cameras = orbit(views, width)
    fine = min(max(0.6 * width / 400, 0.15), 1.0)
    scene = still_life(fine)
    (folder / "images").mkdir()
    (folder / "depth").mkdir()
    rgbs = np.zeros((views, cameras.height, cameras.width, 3), np.uint8)
    depths = np.zeros((views, cameras.height, cameras.width), np.float32)
    tell(f"demo: rendering {views} pictures of {cameras.width} x {cameras.height} pixels, kept for next time")
    with workers(threads) as pool:
        rays, lamp_rays = (64, 16) if width >= 200 else (32, 8)
        light = light_map(scene, rays, lamp_rays, pool, tell)
        for done, (i, rgb, depth) in enumerate(pictures(scene, light, cameras, pool), start=1):
            rgbs[i], depths[i] = rgb, depth
            if done % max(1, views // 4) == 0:
                tell(f"demo: {done} of {views} pictures taken")
        _save_images(Image, folder, rgbs, depths, pool)
    _save_ply(folder / "points.ply", *sparse_points(cameras, rgbs, depths, count=min(8000, 20 * width)))
    text = json.dumps(_transforms(cameras), indent=2)
    (folder / "transforms.json").write_text(text, encoding="utf-8")


def _save_images(Image, folder: Path, rgbs: np.ndarray, depths: np.ndarray, pool: ThreadPoolExecutor) -> None:
    steps = np.round(depths / DEPTH_UNIT)
    if steps.max() > 65535:
        raise ValueError(f"depth {depths.max():.3f} does not fit into 16 bits of {DEPTH_UNIT}")
    steps = steps.astype(np.uint16)

    def save(i: int) -> None:
        Image.fromarray(rgbs[i]).save(folder / "images" / f"{i:03d}.png", compress_level=5)
        Image.fromarray(steps[i]).save(folder / "depth" / f"{i:03d}.png", compress_level=3)

    for _ in pool.map(save, range(len(rgbs))):
        pass


def _transforms(cameras: Orbit) -> dict:
    """The transforms.json of nerfstudio: OpenGL axes (x right, y up, z backward), z of the world up."""
    return {
        "camera_model": "OPENCV",
        "w": cameras.width,
        "h": cameras.height,
        "fl_x": cameras.focal,
        "fl_y": cameras.focal,
        "cx": cameras.width / 2,
        "cy": cameras.height / 2,
        "k1": 0.0,
        "k2": 0.0,
        "p1": 0.0,
        "p2": 0.0,
        "ply_file_path": "points.ply",
        "depth_unit_scale_factor": DEPTH_UNIT,
        "frames": [
            {
                "file_path": f"images/{i:03d}.png",
                "depth_file_path": f"depth/{i:03d}.png",
                "transform_matrix": (pose @ _OPENGL).tolist(),
            }
            for i, pose in enumerate(cameras.poses)
        ],
    }


def sparse_points(cameras: Orbit, rgbs: np.ndarray, depths: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` points on visible surfaces: xyz [count, 3] float32, rgb [count, 3] uint8.

    As structure from motion would find them: more where the pictures have texture, none on silhouettes, a little beside
    the truth (less than a pixel across, some three times that in depth).
    """
    views, height, width = depths.shape
    u = philox.uniform(0, "demo points", 0, np.arange(40 * count), 4)
    i, y, x = (np.minimum((u[:, k] * n).astype(int), n - 1) for k, n in enumerate((views, height, width)))
    inside = (x > 0) & (y > 0) & (x < width - 1) & (y < height - 1)
    i, y, x, u = i[inside], y[inside], x[inside], u[inside]
    grey = rgbs.astype(np.float32).mean(-1)
    around = [(y + a, x + b) for a, b in ((0, 1), (0, -1), (1, 0), (-1, 0))]
    texture = np.max([np.abs(grey[i, b, a] - grey[i, y, x]) for b, a in around], axis=0)
    # a plane has no second difference of 1 / z; a silhouette has a large one
    near = 1.0 / np.maximum(depths, 1e-6)
    bend = sum(near[i, b, a] for b, a in around) / 4 - near[i, y, x]
    keep = (depths[i, y, x] > 0) & (np.abs(bend) < 0.004 * near[i, y, x]) & (u[:, 3] < 0.08 + texture / 24)
    i, y, x = (a[keep][:count] for a in (i, y, x))
    z = depths[i, y, x].astype(np.float64)
    ray = np.stack([(x + 0.5 - width / 2) / cameras.focal, (y + 0.5 - height / 2) / cameras.focal, np.ones(len(x))], -1)
    wobble = philox.normal(0, "demo point noise", 0, np.arange(len(x)), 3) * (z / cameras.focal * _POINT_NOISE)[:, None]
    local = ray * z[:, None] + wobble * [0.6, 0.6, 2.0]
    poses = cameras.poses[i]
    xyz = np.einsum("nij,nj->ni", poses[:, :3, :3], local) + poses[:, :3, 3]
    return xyz.astype(np.float32), rgbs[i, y, x]


def _save_ply(path: Path, xyz: np.ndarray, rgb: np.ndarray) -> None:
    rows = np.zeros(len(xyz), [("xyz", "<f4", (3,)), ("rgb", "u1", (3,))])
    rows["xyz"], rows["rgb"] = xyz, rgb
    names = [f"property float {c}" for c in "xyz"] + [f"property uchar {c}" for c in ("red", "green", "blue")]
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(xyz)}", *names, "end_header", ""]
    path.write_bytes("\n".join(head).encode("ascii") + rows.tobytes())
