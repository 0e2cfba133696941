"""Initial points from silhouettes: the visual hull of photos with alpha (Laurentini 1994), coloured by the photos that see it.

For captures without sparse points (synthetic objects, cut-out photos) this is a far better start than random points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .axes import axes_meet
from .scene import Camera, Pixels, Points


def visual_hull(
    cameras: Sequence[Camera],
    pixels: Callable[[int], Pixels],
    resolution: int = 96,
    misses: float = 0.04,
    rounds: int = 2,
) -> Points | None:
    """Surface points of the hull on a grid of `resolution`^3 cells, in world coordinates; None if nothing is left.

    A cell belongs to the hull if at most a share `misses` of the cameras that see it look past the object, and at least half of
    all cameras see it. The box starts as what the cameras see around the point that their axes approach, and shrinks to the hull
    `rounds` times. Colour: mean over the least occluded half of the cameras (nearest by distance), enough to start from.
    """
    low, high = _box(cameras)
    for _ in range(rounds):
        grid, inside = _carve(cameras, pixels, low, high, resolution, misses)
        if not inside.any():
            return None
        found = grid[inside.reshape(-1)]
        cell = (high - low) / resolution
        low, high = found.min(0) - 2 * cell, found.max(0) + 2 * cell
    grid, inside = _carve(cameras, pixels, low, high, resolution, misses)
    if not inside.any():
        return None
    shell = inside & ~_eroded(inside)
    xyz = grid[shell.reshape(-1)]
    return Points(xyz, _colour(cameras, pixels, xyz))


def _box(cameras: Sequence[Camera]) -> tuple[np.ndarray, np.ndarray]:
    """A cube around the point nearest to all optical axes that reaches half way to the nearest camera's surroundings."""
    centers = np.stack([c.center for c in cameras])
    middle = axes_meet(cameras)
    distance = np.linalg.norm(centers - middle, axis=1)
    half_view = np.array([max(c.width / c.K[0, 0], c.height / c.K[1, 1]) / 2 for c in cameras])
    radius = float(np.median(distance * np.minimum(half_view, 0.9)))
    return middle - radius, middle + radius


def _carve(
    cameras: Sequence[Camera],
    pixels: Callable[[int], Pixels],
    low: np.ndarray,
    high: np.ndarray,
    resolution: int,
    misses: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Cell centres [R^3, 3] and which of them lie in the hull [R, R, R]."""
    steps = [low[i] + (high[i] - low[i]) * (np.arange(resolution) + 0.5) / resolution for i in range(3)]
    grid = np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(-1, 3)
    seen, missed = np.zeros(len(grid), np.int32), np.zeros(len(grid), np.int32)
    for i, camera in enumerate(cameras):
        rows, x, y, _ = project(camera, grid)
        seen[rows] += 1
        alpha = pixels(i).alpha
        if alpha is not None:  # a photo that the object fills shows no edge
            missed[rows] += alpha[y, x] < 32
    inside = (seen >= max(1, len(cameras) // 2)) & (missed <= misses * seen)
    return grid, inside.reshape(resolution, resolution, resolution)


def project(camera: Camera, xyz: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of xyz [N, 3] that fall inside the picture, their pixel column and row, and their depth."""
    local = xyz @ camera.world_to_camera[:3, :3].T + camera.world_to_camera[:3, 3]
    z = np.where(local[:, 2] > 1e-6, local[:, 2], np.inf)
    x = np.floor(camera.K[0, 0] * local[:, 0] / z + camera.K[0, 2])
    y = np.floor(camera.K[1, 1] * local[:, 1] / z + camera.K[1, 2])
    rows = np.flatnonzero(np.isfinite(z) & (x >= 0) & (x < camera.width) & (y >= 0) & (y < camera.height))
    return rows, x[rows].astype(int), y[rows].astype(int), z[rows]


def _eroded(inside: np.ndarray) -> np.ndarray:
    """Cells whose six neighbours are all inside."""
    padded = np.pad(inside, 1)
    core = padded[1:-1, 1:-1, 1:-1].copy()
    for axis in range(3):
        for shift in (-1, 1):
            core &= np.roll(padded, shift, axis)[1:-1, 1:-1, 1:-1]
    return core


def _colour(cameras: Sequence[Camera], pixels: Callable[[int], Pixels], xyz: np.ndarray) -> np.ndarray:
    """[N, 3] uint8: mean colour over the nearer half of the cameras that see each point (the far half is behind the object)."""
    distance = np.stack([np.linalg.norm(xyz - c.center, axis=1) for c in cameras])
    nearer = distance <= np.median(distance, axis=0)
    total, weight = np.zeros((len(xyz), 3)), np.zeros(len(xyz))
    for i, (camera, near) in enumerate(zip(cameras, nearer, strict=True)):
        rows, x, y, _ = project(camera, xyz)
        picture = pixels(i)
        alpha = np.full(len(rows), 255.0) if picture.alpha is None else picture.alpha[y, x].astype(np.float64)
        a = alpha * near[rows]
        total[rows] += picture.rgb[y, x] * near[rows][:, None] * 255.0
        weight[rows] += a
    return np.where(weight[:, None] > 0, total / np.maximum(weight, 1e-9)[:, None], 128).clip(0, 255).astype(np.uint8)
