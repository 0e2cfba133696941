"""Gaussian splatting written down plainly in dense float64 torch, with autograd for gradients: slow, short, and
independent of the kernels.

Letters: N Gaussians, P pixels, D channels. One camera.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

ALPHA_MIN, ALPHA_MAX, T_MIN = 1 / 255, 0.999, 1e-4


@dataclass
class Drawn:
    """image [H, W, D], alpha [H, W], and sure [H, W] bool: no decision of this pixel hangs on the last digits."""

    image: Tensor
    alpha: Tensor
    sure: Tensor


def rotation(q: Tensor) -> Tensor:
    """[N, 4] (w, x, y, z) -> [N, 3, 3]: v -> q v q*, by applying the quaternion to the three axes."""
    q = q / q.norm(dim=-1, keepdim=True).clamp(min=1e-15)
    w, u = q[:, :1], q[:, 1:]
    axes = torch.eye(3, dtype=q.dtype)
    columns = []
    for k in range(3):
        v = axes[k].expand(len(q), 3)
        t = 2 * torch.linalg.cross(u, v)
        columns.append(v + w * t + torch.linalg.cross(u, t))
    return torch.stack(columns, -1)


def project(means, quats, scales, viewmat, K, width, height, eps2d=0.3):
    """means2d [N, 2], covariance after and before the blur [N, 2, 2], depth [N]; the Jacobian clamped as gsplat
    does."""
    R, t = viewmat[:3, :3], viewmat[:3, 3]
    x = means @ R.T + t
    fx, fy, cx, cy = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
    z = x[:, 2]
    ux, uy = x[:, 0] / z, x[:, 1] / z
    margin_x, margin_y = 0.3 * 0.5 * width / fx, 0.3 * 0.5 * height / fy
    kx = ux.clamp(-(cx / fx + margin_x), (width - cx) / fx + margin_x)
    ky = uy.clamp(-(cy / fy + margin_y), (height - cy) / fy + margin_y)
    zero = torch.zeros_like(z)
    J = torch.stack([fx / z, zero, -fx * kx / z, zero, fy / z, -fy * ky / z], -1).view(-1, 2, 3)
    half = J @ R @ rotation(quats) @ torch.diag_embed(scales)
    sharp = half @ half.transpose(1, 2)
    blurred = sharp + eps2d * torch.eye(2, dtype=means.dtype)
    return torch.stack([fx * ux + cx, fy * uy + cy], -1), blurred, sharp, z


def blend(means2d, cov, opacities, colours, depths, width, height, background=None) -> Drawn:
    """Front to back, ties by index, all pairs at once.

    T only falls: "the first Gaussian that would bring it to 1e-4 ends the pixel" means "T behind it is above 1e-4".
    """
    ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    pixels = torch.stack([xs, ys], -1).reshape(-1, 2).to(means2d.dtype) + 0.5
    order = torch.argsort(depths, stable=True)
    means2d, cov, opacities, colours = (a[order] for a in (means2d, cov, opacities, colours))
    d = pixels - means2d[:, None]  # [N, P, 2]
    sigma = 0.5 * ((d @ torch.linalg.inv(cov)) * d).sum(-1)
    raw = opacities[:, None] * torch.exp(-sigma)
    alpha = torch.where(raw <= ALPHA_MAX, raw, torch.full_like(raw, ALPHA_MAX))  # no gradient through the clamp
    alpha = torch.where(raw >= ALPHA_MIN, alpha, torch.zeros_like(alpha))
    with torch.no_grad():
        behind = torch.cumprod(1 - alpha, 0)
        drawn = behind > T_MIN
        near = ((raw / ALPHA_MIN - 1).abs() < 1e-3) | ((raw / ALPHA_MAX - 1).abs() < 1e-4)
        near |= (behind / T_MIN - 1).abs() < 1e-2
        sure = ~near.any(0)
    alpha = torch.where(drawn, alpha, torch.zeros_like(alpha))
    behind = torch.cumprod(1 - alpha, 0)
    T = torch.cat([torch.ones_like(pixels[None, :, 0]), behind])
    out = torch.einsum("np,nd->pd", alpha * T[:-1], colours)
    if background is not None:
        out = out + T[-1][:, None] * background
    return Drawn(out.view(height, width, -1), (1 - T[-1]).view(height, width), sure.view(height, width))


def visible(means, viewmat, near=0.01, far=1e10) -> Tensor:
    """[N] bool: between the planes and in front."""
    z = means @ viewmat[2, :3] + viewmat[2, 3]
    return (z >= near) & (z <= far) & (z > 0)


def render(
    means,
    quats,
    scales,
    opacities,
    colours,
    viewmat,
    K,
    width,
    height,
    background=None,
    eps2d=0.3,
    antialiased=False,
    depth=False,
) -> Drawn:
    """The whole picture. colours [N, D]; with `depth` one more channel holds z."""
    keep = visible(means.detach(), viewmat.detach())
    means, quats, scales, opacities, colours = (a[keep] for a in (means, quats, scales, opacities, colours))
    means2d, cov, sharp, z = project(means, quats, scales, viewmat, K, width, height, eps2d)
    if antialiased:
        opacities = opacities * torch.sqrt((torch.linalg.det(sharp) / torch.linalg.det(cov)).clamp(min=0))
    if depth:
        colours = torch.cat([colours, z[:, None]], -1)
    return blend(means2d, cov, opacities, colours, z.detach(), width, height, background)
