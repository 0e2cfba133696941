"""Small random scenes for comparison with the dense reference."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch


@dataclass
class SmallScene:
    """float32 leaf tensors of a scene seen by one camera."""

    width: int
    height: int
    viewmat: torch.Tensor
    K: torch.Tensor
    params: dict[str, torch.Tensor] = field(default_factory=dict)


def turned(axis_angle: torch.Tensor) -> torch.Tensor:
    """Rotation matrix of a rotation vector."""
    x, y, z = axis_angle.tolist()
    return torch.linalg.matrix_exp(
        torch.tensor([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]], dtype=torch.float64)
    ).float()


def small_scene(
    seed: int, n: int = 30, width: int = 37, height: int = 29, channels: int = 3, opaque: bool = False
) -> SmallScene:
    """n Gaussians in front of (a few beside and behind) a turned camera."""
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=g)

    focal = 20 + 30 * float(uniform(1))
    K = torch.tensor(
        [[focal, 0, width * (0.3 + 0.4 * float(uniform(1)))], [0, focal * 1.1, height * 0.45], [0, 0, 1.0]]
    )
    viewmat = torch.eye(4)
    viewmat[:3, :3] = turned(0.6 * normal(3))
    viewmat[:3, 3] = 0.3 * normal(3)
    depth = 0.5 + 5 * uniform(n)
    depth[: n // 10] *= -1
    spread = 0.6 * max(width, height) / focal
    camera = torch.stack([normal(n) * spread * depth, normal(n) * spread * depth, depth], -1)
    means = (camera - viewmat[:3, 3]) @ viewmat[:3, :3]
    scales = depth.abs()[:, None] / focal * torch.exp(0.8 * normal(n, 3) + math.log(3.0))
    opacities = 0.02 + 0.97 * uniform(n)
    if opaque:
        opacities = 0.9 + 0.1 * uniform(n)
    params = dict(
        means=means,
        quats=normal(n, 4) * (0.5 + uniform(n, 1)),
        scales=scales,
        opacities=opacities,
        colours=normal(n, channels),
    )
    return SmallScene(width, height, viewmat, K, {k: v.float().contiguous() for k, v in params.items()})
