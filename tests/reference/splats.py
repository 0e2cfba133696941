"""Gaussian splatting written down plainly in dense float64 torch, with autograd for gradients: slow, short, and independent of the kernels.

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
    """means2d [N, 2], covariance after and before the blur [N, 2, 2], depth [N]; the Jacobian clamped as gsplat does."""
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
    """Front to back, ties by index, all pixels at once."""
    ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    pixels = torch.stack([xs, ys], -1).reshape(-1, 2).to(means2d.dtype) + 0.5
    T = torch.ones(len(pixels), dtype=means2d.dtype)
    out = torch.zeros(len(pixels), colours.shape[1], dtype=means2d.dtype)
    open_, sure = torch.ones(len(pixels), dtype=torch.bool), torch.ones(len(pixels), dtype=torch.bool)
    for i in torch.argsort(depths, stable=True).tolist():
        d = pixels - means2d[i]
        sigma = 0.5 * ((d @ torch.linalg.inv(cov[i])) * d).sum(-1)
        raw = opacities[i] * torch.exp(-sigma)
        alpha = torch.where(raw <= ALPHA_MAX, raw, torch.full_like(raw, ALPHA_MAX))  # no gradient through the clamp
        drawn = open_ & (raw >= ALPHA_MIN)
        left = T * (1 - alpha)
        ends = drawn & (left <= T_MIN)
        with torch.no_grad():
            near = ((raw / ALPHA_MIN - 1).abs() < 1e-3) | ((raw / ALPHA_MAX - 1).abs() < 1e-4)
            near |= drawn & ((left / T_MIN - 1).abs() < 1e-2)
            sure &= ~(open_ & near)
        open_ = open_ & ~ends
        drawn = drawn & ~ends
        weight = torch.where(drawn, alpha * T, torch.zeros_like(T))
        out = out + weight[:, None] * colours[i]
        T = torch.where(drawn, left, T)
    if background is not None:
        out = out + T[:, None] * background
    return Drawn(out.view(height, width, -1), (1 - T).view(height, width), sure.view(height, width))


def visible(means, viewmat, near=0.01, far=1e10) -> Tensor:
    """[N] bool: between the planes and in front."""
    z = means @ viewmat[2, :3] + viewmat[2, 3]
    return (z >= near) & (z <= far) & (z > 0)


def render(
    means, quats, scales, opacities, colours, viewmat, K, width, height, background=None, eps2d=0.3, antialiased=False, depth=False
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
