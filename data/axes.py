"""Where cameras look together: the point nearest to all optical axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .scene import Camera

_WORST_CONDITION = 1e6  # of the normal equations; beyond it the axes count as parallel


def axes_meet(cameras: Sequence[Camera]) -> np.ndarray:
    """The world point [3] with the least sum of squared distances to the optical axes.

    Where the axes are parallel (see `axes_are_parallel`) it is known only across them; along them the point nearest to the
    world's origin is taken. The axes are lines: the point may lie behind a camera.
    """
    A, b = _normal_equations(cameras)
    return np.linalg.lstsq(A, b, rcond=1 / _WORST_CONDITION)[0]


def axes_are_parallel(cameras: Sequence[Camera]) -> bool:
    """Whether the axes determine no common point: one camera alone, or all look along one direction, forth or back."""
    return bool(np.linalg.cond(_normal_equations(cameras)[0]) > _WORST_CONDITION)


def _normal_equations(cameras: Sequence[Camera]) -> tuple[np.ndarray, np.ndarray]:
    """A [3, 3] and b [3] of sum_i (1 - a_i a_i^T) (x - c_i) = 0 with centres c_i and unit axes a_i."""
    centers = np.stack([c.center for c in cameras])
    axes = np.stack([c.world_to_camera[2, :3] for c in cameras])
    across = np.eye(3)[None] - axes[:, :, None] * axes[:, None, :]
    return across.sum(0), np.einsum("nij,nj->i", across, centers)
