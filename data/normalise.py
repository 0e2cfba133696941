"""The world frame: the input moved and scaled so that float32 suffices and the cameras spread over about 1."""

from __future__ import annotations

import numpy as np

from .scene import Frame


def world_frame(centers: np.ndarray, xyz: np.ndarray) -> Frame:
    """A Frame from camera centres [N, 3] and points [P, 3], both float64 in the input.

    origin  median camera centre: a few lost cameras do not move it
    scale   90th percentile of the cameras' distance from it; where they coincide, the points' median distance; else 1
    """
    origin = np.median(centers, axis=0)
    spread = float(np.quantile(np.linalg.norm(centers - origin, axis=1), 0.9))
    if not _usable(spread, origin) and len(xyz):
        spread = float(np.median(np.linalg.norm(xyz - origin, axis=1)))
    return Frame(spread if _usable(spread, origin) else 1.0, origin)


def _usable(spread: float, origin: np.ndarray) -> bool:
    """Cameras on a tripod in a far-off coordinate system differ by rounding alone; that is no spread."""
    return bool(np.isfinite(spread)) and spread > 1e-12 + 1e-9 * float(np.abs(origin).max())


def share_in_front(world_to_camera: np.ndarray, xyz: np.ndarray, most: int = 2000) -> float:
    """Share of (a regular sample of) points [P, 3] that lie before at least one camera of [N, 4, 4]."""
    sample = xyz[:: max(1, len(xyz) // most)]
    depth = world_to_camera[:, 2, :3] @ sample.T + world_to_camera[:, 2, 3:]
    return float((depth > 0).any(axis=0).mean())
