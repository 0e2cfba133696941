"""Shrinking: area averages for colour, nearest for masks."""

from __future__ import annotations

import numpy as np


def scaled_size(width: int, height: int, downscale: float) -> tuple[int, int]:
    """Both sides divided by `downscale`, rounded to nearest (halves up), at least one pixel."""
    return max(1, int(width / downscale + 0.5)), max(1, int(height / downscale + 0.5))


def shrink(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """[H, W, C] uint8 -> [height, width, C] uint8 by exact area averaging (any ratio >= 1)."""
    if image.shape[:2] == (height, width):
        return image
    from .kernels import area_average

    out = np.empty((height, width, image.shape[2]), np.uint8)
    area_average(np.ascontiguousarray(image), out)
    return out


def nearest(mask: np.ndarray, width: int, height: int) -> np.ndarray:
    """[H, W] of any type -> [height, width], each pixel the one under its centre."""
    H, W = mask.shape
    if (height, width) == (H, W):
        return mask
    rows = ((np.arange(height) + 0.5) * H / height).astype(np.int64)
    columns = ((np.arange(width) + 0.5) * W / width).astype(np.int64)
    return np.ascontiguousarray(mask[rows[:, None], columns[None, :]])
