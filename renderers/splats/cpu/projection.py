"""Projection of Gaussians to the image as a differentiable torch function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...kernels.rows import block_count, run_rows
from ...kernels.tensors import array, recycled
from .camera import camera_array
from .checks import expect, refuse
from .projection_kernels import ROWS, project_backward, project_forward


class _Projection(torch.autograd.Function):
    """means [B, N, 3] ... viewmats [B, C, 4, 4] -> means2d [B, C, N, 2], depths, conics, compensations, radii."""

    @staticmethod
    def forward(
        ctx: Any, means: Tensor, quats: Tensor, scales: Tensor, opacities: Tensor | None, viewmats: Tensor, Ks: Tensor,
        width: int, height: int, eps2d: float, near_plane: float, far_plane: float, radius_clip: float, compensate:
        bool,
    ) -> Any:  # fmt: skip
        batch, n, views = means.shape[0], means.shape[1], viewmats.shape[1]
        shape = (batch, views, n)
        means2d, a_means2d = recycled((*shape, 2))
        depths, a_depths = recycled(shape)
        conics, a_conics = recycled((*shape, 3))
        compensations, a_compensations = recycled(shape)
        radii, a_radii = recycled((*shape, 2), np.int32)
        inputs = [array(means), array(quats), array(scales)]
        weights = np.zeros((batch, n), np.float32) if opacities is None else array(opacities)
        poses, intrinsics = viewmats.detach().numpy(), Ks.detach().numpy()
        cameras = [
            [
                camera_array(poses[b, c], intrinsics[b, c], width, height, eps2d, near_plane, far_plane, radius_clip)
                for c in range(views)
            ]
            for b in range(batch)
        ]
        for b in range(batch):
            for c in range(views):
                outputs = [a[b, c] for a in (a_means2d, a_depths, a_conics, a_compensations, a_radii)]
                args = [*(a[b] for a in inputs), weights[b], opacities is not None, compensate, cameras[b][c], *outputs]
                run_rows(project_forward, n, ROWS, args, rows=[0, 1, 2, 3, *range(7, 12)], written=range(7, 12))
        ctx.save_for_backward(means, quats, scales, radii, conics, compensations)
        ctx.cameras = cameras
        ctx.mark_non_differentiable(radii)
        ctx.set_materialize_grads(False)
        return means2d, depths, conics, compensations, radii

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        means, quats, scales, radii, conics, compensations = ctx.saved_tensors
        batch, views, n = radii.shape[:3]
        pose = ctx.needs_input_grad[4]
        v_means, a_means = recycled((batch, n, 3))
        v_quats, a_quats = recycled((batch, n, 4))
        v_scales, a_scales = recycled((batch, n, 3))
        v_viewmats = torch.zeros((batch, views, 4, 4)) if pose else None
        blocks = block_count(n, ROWS)
        shares = np.zeros((blocks, 12), np.float32)
        inputs = [array(means), array(quats), array(scales)]
        saved = [radii.numpy(), array(conics), array(compensations)]
        shapes = ((n, 2), (0,), (n, 3), (0,))  # of what stands in for gradients that are absent; radii have none
        incoming = [
            np.zeros((batch, views, *s), np.float32) if g is None else array(g)
            for g, s in zip(gradients, shapes, strict=False)
        ]
        use_depths, use_compensations = gradients[1] is not None, gradients[3] is not None
        rows = [0, 1, 2, 4, 5, 6, 7, 9, 15, 16, 17, *[8] * use_depths, *[10] * use_compensations]
        for b in range(batch):
            for c in range(views):
                args = [
                    *(a[b] for a in inputs), ctx.cameras[b][c], *(a[b, c] for a in saved), *(a[b, c] for a in incoming),
                    use_depths, use_compensations, c > 0, pose, a_means[b], a_quats[b], a_scales[b], shares,
                ]  # fmt: skip
                run_rows(project_backward, n, ROWS, args, rows, written=[15, 16, 17], blocks_at=18)
                if v_viewmats is not None:
                    total = shares.sum(0, dtype=np.float64).astype(np.float32)
                    v_viewmats[b, c, :3, :3] = torch.from_numpy(total[:9].reshape(3, 3))
                    v_viewmats[b, c, :3, 3] = torch.from_numpy(total[9:])
        return (v_means, v_quats, v_scales, None, v_viewmats, *[None] * 8)


def fully_fused_projection(
    means: Tensor,
    covars: Tensor | None,
    quats: Tensor | None,
    scales: Tensor | None,
    viewmats: Tensor,
    Ks: Tensor,
    width: int,
    height: int,
    eps2d: float = 0.3,
    near_plane: float = 0.01,
    far_plane: float = 1e10,
    radius_clip: float = 0.0,
    packed: bool = False,
    sparse_grad: bool = False,
    calc_compensations: bool = False,
    camera_model: str = "pinhole",
    opacities: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """gsplat's function of this name for pinhole cameras.

    Args:
        means: [..., N, 3] world. quats: [..., N, 4] (w, x, y, z), any length. scales: [..., N, 3] standard deviations.
        viewmats: [..., C, 4, 4] world to camera (x right, y down, z forward). Ks: [..., C, 3, 3] pixels.
        eps2d: added to both variances [pixels^2]. radius_clip: drop Gaussians whose radii are no larger [pixels].
        opacities: [..., N]; makes radii as small as alpha >= 1/255 allows.
        covars, packed, sparse_grad, other camera models: NotImplementedError.

    Returns:
        radii [..., C, N, 2] int32 (0: culled), means2d [..., C, N, 2], depths [..., C, N], conics [..., C, N, 3],
        compensations [..., C, N] or None. Rows of culled Gaussians, among them all with NaN or inf, are zero.
        Differentiable with respect to means, quats, scales and viewmats.
    """
    refuse("covars", covars is not None)
    refuse("packed", packed)
    refuse("sparse_grad", sparse_grad)
    refuse(f"camera_model={camera_model!r}", camera_model != "pinhole")
    if quats is None or scales is None:
        raise ValueError("quats and scales are needed")
    batch, n = tuple(means.shape[:-2]), means.shape[-2]
    views, count = viewmats.shape[-3], math.prod(batch)
    expect("means", means, (*batch, n, 3))
    expect("quats", quats, (*batch, n, 4))
    expect("scales", scales, (*batch, n, 3))
    expect("viewmats", viewmats, (*batch, views, 4, 4))
    expect("Ks", Ks, (*batch, views, 3, 3))
    if opacities is not None:
        expect("opacities", opacities, (*batch, n))
    means2d, depths, conics, compensations, radii = _Projection.apply(
        means.reshape(count, n, 3),
        quats.reshape(count, n, 4),
        scales.reshape(count, n, 3),
        None if opacities is None else opacities.reshape(count, n),
        viewmats.reshape(count, views, 4, 4),
        Ks.reshape(count, views, 3, 3),
        width, height, eps2d, near_plane, far_plane, radius_clip, calc_compensations,
    )  # fmt: skip  # pyright: ignore[reportGeneralTypeIssues]
    front = (*batch, views, n)
    return (
        radii.view(*front, 2),
        means2d.view(*front, 2),
        depths.view(front),
        conics.view(*front, 3),
        compensations.view(front) if calc_compensations else None,
    )
