"""Where the photographer stands: three rings around the table, all looking at its middle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# elevation [degrees], distance, share of the views, height of the point looked at
_RINGS = ((17.0, 2.35, 0.43, 0.16), (36.0, 2.30, 0.36, 0.12), (58.0, 2.25, 0.21, 0.06))
_FIRST = -62.0  # azimuth of the first view [degrees], the one for covers and READMEs


@dataclass(frozen=True)
class Orbit:
    """Views of one size. poses [n, 4, 4] camera-to-world (OpenCV axes), focal [px], principal point in the middle."""

    poses: np.ndarray
    width: int
    height: int
    focal: float


def orbit(views: int, width: int) -> Orbit:
    """`views` cameras whose pictures are `width` x 3/4 `width` pixels."""
    upper = [round(views * share) for _, _, share, _ in _RINGS[1:]]
    counts = [views - sum(upper), *upper]
    poses = []
    for ring, ((elevation, distance, _, height), count) in enumerate(zip(_RINGS, counts, strict=True)):
        for k in range(count):
            azimuth = _FIRST + 360.0 * (k + ring / 3) / count
            sway = math.radians(azimuth * 5)  # nobody walks in perfect circles
            pose = look_at(azimuth, elevation + 3.0 * math.sin(sway), distance + 0.07 * math.cos(sway), height)
            poses.append(pose)
    return Orbit(np.stack(poses), width, round(width * 0.75), 1.0 * width)


def look_at(azimuth: float, elevation: float, distance: float, height: float) -> np.ndarray:
    """Camera-to-world [4, 4] (OpenCV axes) of a camera that looks at (0, 0, height) and keeps the horizon level."""
    a, e = math.radians(azimuth), math.radians(elevation)
    away = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    right = np.cross(-away, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([right, np.cross(-away, right), -away], axis=1)
    pose[:3, 3] = distance * away + [0.0, 0.0, height]
    return pose
