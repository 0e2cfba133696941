"""First Gaussians: from sparse points, or, without points, spread through what the cameras see in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data import philox
from ...data.axes import axes_are_parallel, axes_meet
from ...data.gaussians import SH_C0, Gaussians
from ...data.scene import Camera, Points


def neighbour_distance(xyz: np.ndarray, fallback: float, k: int = 3) -> np.ndarray:
    """Root mean square distance to the k nearest other points, [N]; `fallback` where that is not known or zero."""
    from scipy.spatial import KDTree

    n = len(xyz)
    if n < 2:
        return np.full(n, fallback)
    k = min(k, n - 1)
    distance = KDTree(xyz).query(xyz, k=k + 1, workers=1)[0][:, 1:]
    rms = np.sqrt((distance**2).mean(1))
    return np.where(rms > 0, rms, fallback)


def from_points(points: Points, extent: float, degree: int, opacity: float = 0.1, scale: float = 1.0) -> Gaussians:
    """One isotropic Gaussian per point with its colour; size = `scale` times the distance to its three neighbours.

    `extent` is the radius of the cameras: the fallback size is 1 % of it, the largest allowed 10 % (far outliers would else be
    scene-sized blobs).
    """
    n = len(points)
    size = np.clip(scale * neighbour_distance(points.xyz, 0.01 * extent), 1e-7 * extent, 0.1 * extent)
    sh = np.zeros((n, (degree + 1) ** 2, 3), np.float32)
    sh[:, 0] = (points.rgb.astype(np.float32) / 255.0 - 0.5) / SH_C0
    quats = np.zeros((n, 4), np.float32)
    quats[:, 0] = 1.0
    return Gaussians(
        points.xyz.astype(np.float32),
        quats,
        np.repeat(np.log(size)[:, None], 3, 1).astype(np.float32),
        np.full(n, np.log(opacity / (1 - opacity)), np.float32),
        sh,
    )


def common_view(cameras: Sequence[Camera], count: int, seed: int, extent: float) -> Points:
    """`count` grey points where many cameras look: random pixels of random cameras at random depths, kept if others see them too.

    Depths are log-uniform around the distance at which the optical axes come closest to each other (the least-squares point);
    for cameras that all look outwards or the same way, between 0.9 and 9 extents. Deterministic in `seed`.
    """
    middle = _axis_distance(cameras, extent)
    low, high = 0.3 * middle, 3.0 * middle
    draw = 4 * count
    u = philox.uniform(seed, "initial points", 0, np.arange(draw), 4)
    which = np.minimum((u[:, 0] * len(cameras)).astype(int), len(cameras) - 1)
    depth = np.exp(np.log(low) + u[:, 3] * np.log(high / low))
    xyz = np.empty((draw, 3))
    for i, camera in enumerate(cameras):
        rows = np.flatnonzero(which == i)
        pixel = np.stack([u[rows, 1] * camera.width, u[rows, 2] * camera.height, np.ones(len(rows))], 1)
        local = (pixel @ np.linalg.inv(camera.K).T) * depth[rows, None]
        xyz[rows] = (local - camera.world_to_camera[:3, 3]) @ camera.world_to_camera[:3, :3]
    seen = sum(sees(camera, xyz).astype(int) for camera in cameras)
    order = np.argsort(-np.minimum(seen, max(2, len(cameras) // 3)), kind="stable")[:count]
    return Points(xyz[order], np.full((len(order), 3), 128, np.uint8))


def sees(camera: Camera, xyz: np.ndarray) -> np.ndarray:
    """[N] bool: the points that fall inside the camera's picture."""
    local = xyz @ camera.world_to_camera[:3, :3].T + camera.world_to_camera[:3, 3]
    z = np.where(local[:, 2] > 1e-6, local[:, 2], np.nan)
    pixel = local @ camera.K.T
    x, y = pixel[:, 0] / z, pixel[:, 1] / z
    return (x >= 0) & (x < camera.width) & (y >= 0) & (y < camera.height)


def _axis_distance(cameras: Sequence[Camera], extent: float) -> float:
    """Median distance along the axes to where they meet; a few extents for cameras whose axes do not meet in front of them."""
    far = 3.0 * extent
    if axes_are_parallel(cameras):
        return far
    point = axes_meet(cameras)
    along = np.array([(point - c.center) @ c.world_to_camera[2, :3] for c in cameras])
    return float(np.median(np.where(along > 0.05 * extent, along, far)))
