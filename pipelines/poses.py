"""Pose refinement: a small rigid motion per training photo, learned with the scene."""

from __future__ import annotations

import torch


def se3(delta: torch.Tensor) -> torch.Tensor:
    """exp of a twist [6] (translation, rotation vector) -> [4, 4], differentiable at zero.

    Rodrigues' formula with series where the angle is small.
    """
    t, w = delta[:3], delta[3:]
    square = (w * w).sum()
    small = square < 1e-8
    angle = torch.where(small, torch.ones_like(square), square).sqrt()
    a = torch.where(small, 1 - square / 6, torch.sin(angle) / angle)
    b = torch.where(small, 0.5 - square / 24, (1 - torch.cos(angle)) / angle**2)
    zero = torch.zeros_like(w[0])
    W = torch.stack([zero, -w[2], w[1], w[2], zero, -w[0], -w[1], w[0], zero]).reshape(3, 3)
    R = torch.eye(3, dtype=w.dtype, device=w.device) + a * W + b * (W @ W)
    top = torch.cat([R, t[:, None]], 1)
    return torch.cat([top, torch.tensor([[0.0, 0.0, 0.0, 1.0]], dtype=w.dtype, device=w.device)])


def moved(world_to_camera: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    """The pose after the small motion, applied in camera space so that its size does not depend on where the world's origin is."""
    return se3(delta) @ world_to_camera
