"""Spherical harmonics as differentiable torch functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...kernels.rows import run_rows
from ...kernels.tensors import array, recycled
from .harmonics_kernels import MAX_DEGREE, ROWS, harmonics_backward, harmonics_forward


class _Harmonics(torch.autograd.Function):
    """points [N, 3], centres [C, 3], coefficients [C or 1, N, K, 3], radii [C, N, 2] -> colours [C, N, 3]."""

    @staticmethod
    def forward(
        ctx: Any,
        points: Tensor,
        centres: Tensor,
        coefficients: Tensor,
        radii: Tensor,
        degree: int,
        bias: float,
        clamp: bool,
    ) -> Tensor:
        views, n, bases = radii.shape[0], points.shape[0], coefficients.shape[2]
        colours, a_colours = recycled((views, n, 3))
        a_points, a_centres, a_coefficients = array(points), array(centres), array(coefficients)
        for c in range(views):
            args = [
                degree, bases, a_points, a_centres[c], a_coefficients[c % len(a_coefficients)], radii[c].numpy(),
                np.float32(bias), clamp, a_colours[c],
            ]  # fmt: skip
            run_rows(harmonics_forward, n, ROWS, args, rows=[2, 4, 5, 8], written=[8])
        ctx.save_for_backward(points, centres, coefficients, radii, colours)
        ctx.degree, ctx.clamp = degree, clamp
        return colours

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        points, centres, coefficients, radii, colours = ctx.saved_tensors
        (v_colours,) = gradients
        views, n, bases = radii.shape[0], points.shape[0], coefficients.shape[2]
        shared = coefficients.shape[0] == 1
        v_coefficients, a_v_coefficients = recycled(tuple(coefficients.shape))
        v_points, a_v_points = recycled((views, n, 3))
        a_points, a_centres, a_coefficients = array(points), array(centres), array(coefficients)
        a_colours, a_v_colours = array(colours), array(v_colours)
        for c in range(views):
            k = 0 if shared else c
            args = [
                ctx.degree, bases, a_points, a_centres[c], a_coefficients[k], radii[c].numpy(), ctx.clamp, a_colours[c],
                a_v_colours[c], shared and c > 0, a_v_coefficients[k], a_v_points[c],
            ]  # fmt: skip
            run_rows(harmonics_backward, n, ROWS, args, rows=[2, 4, 5, 7, 8, 10, 11], written=[10, 11])
        v_centres = None
        if ctx.needs_input_grad[1]:
            v_centres = torch.from_numpy(-a_v_points.sum(1, dtype=np.float64).astype(np.float32))
        # NumPy's order of summation does not depend on threads
        v_points = torch.from_numpy(a_v_points.sum(0)) if views > 1 else v_points[0]
        return v_points, v_centres, v_coefficients, None, None, None, None


def harmonics_colours(degree: int, means: Tensor, centres: Tensor, coefficients: Tensor, radii: Tensor) -> Tensor:
    """View-dependent colours max(0, 0.5 + SH), as splats store them.

    degree: 0 to 3, those used; means [N, 3]; centres [C, 3] camera positions; coefficients [N, K, 3] or [C, N, K, 3];
    radii [C, N, 2] int32: colours of culled Gaussians are 0 and not looked at. Returns [C, N, 3].
    """
    if coefficients.dim() == 3:
        coefficients = coefficients[None]
    _check_degree(degree, coefficients.shape[-2])
    return _Harmonics.apply(means, centres, coefficients, radii, degree, 0.5, True)  # pyright: ignore[reportReturnType]


def spherical_harmonics(degrees_to_use: int, dirs: Tensor, coeffs: Tensor, masks: Tensor | None = None) -> Tensor:
    """gsplat's function of this name.

    dirs [..., 3] of any length, coeffs [..., K, 3] with K >= (degrees_to_use + 1)^2, masks [...] bool (False: 0).
    Returns [..., 3]. Differentiable with respect to dirs and coeffs; unused coefficients get zero gradients.
    """
    _check_degree(degrees_to_use, coeffs.shape[-2])
    front = tuple(dirs.shape[:-1])
    n = math.prod(front)
    if masks is None:
        radii = torch.ones((1, n, 2), dtype=torch.int32)
    else:
        radii = masks.reshape(1, n, 1).to(torch.int32).expand(1, n, 2).contiguous()
    origin = torch.zeros((1, 3))
    flat = coeffs.reshape(1, n, *coeffs.shape[-2:])
    colours = _Harmonics.apply(dirs.reshape(n, 3), origin, flat, radii, degrees_to_use, 0.0, False)
    return colours.view(*front, 3)  # pyright: ignore[reportAttributeAccessIssue,reportOptionalMemberAccess]


def _check_degree(degree: int, bases: int) -> None:
    if not 0 <= degree <= MAX_DEGREE:
        raise ValueError(f"spherical harmonics of degree {degree}, wanted 0 to {MAX_DEGREE}")
    if (degree + 1) ** 2 > bases:
        raise ValueError(f"{bases} coefficients per colour, wanted at least {(degree + 1) ** 2} for degree {degree}")
