"""Per-image exposure: a 3x4 affine colour map learned for every training photo, baked into the model for everything else.

The map acts on the rendered colour, c' = A c + b (Kerbl et al.'s later releases use the same form). Held-out photos have no map of
their own; `bake` puts the mean map into the spherical harmonics, so that evaluation, checkpoint and exported file show one model.
"""

from __future__ import annotations

import numpy as np
import torch

from ..data.gaussians import SH_C0, Gaussians


def identity(views: int) -> torch.Tensor:
    """[V, 3, 4] maps that change nothing."""
    return torch.eye(3, 4).repeat(views, 1, 1)


def apply(maps: torch.Tensor, rgb: torch.Tensor) -> torch.Tensor:
    """One map [3, 4] on a picture [H, W, 3]."""
    return torch.addmm(maps[:, 3], rgb.reshape(-1, 3), maps[:, :3].T).reshape(rgb.shape)


def bake(g: Gaussians, maps: np.ndarray) -> Gaussians:
    """The Gaussians as seen through the mean of maps [V, 3, 4]. Exact where the scene is opaque and colours are not clamped."""
    from dataclasses import replace

    mean = maps.astype(np.float64).mean(0)
    A, b = mean[:, :3], mean[:, 3]
    sh = g.sh.astype(np.float64) @ A.T
    sh[:, 0] += (A @ np.full(3, 0.5) + b - 0.5) / SH_C0
    return replace(g, sh=sh.astype(np.float32))


def aligned(rgb: np.ndarray, target: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """rgb [H, W, 3] after the least-squares affine colour map onto target: what remains is not a matter of exposure.

    The map is fitted where mask [H, W] is True (None: everywhere) and applied to the whole picture; unchanged if that is nowhere.
    """
    x = np.concatenate([rgb.reshape(-1, 3), np.ones((rgb[..., 0].size, 1))], 1)
    counts = slice(None) if mask is None else mask.reshape(-1)
    if mask is not None and not mask.any():
        return rgb
    solution = np.linalg.lstsq(x[counts], target.reshape(-1, 3)[counts], rcond=None)[0]
    return (x @ solution).reshape(rgb.shape)
