"""gsplat's `rasterization` on the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .checks import expect, refuse
from .harmonics import harmonics_colours
from .projection import fully_fused_projection
from .rasterize import rasterize_to_pixels

MODES = ("RGB", "D", "ED", "RGB+D", "RGB+ED")


def rasterization(
    means: Tensor,
    quats: Tensor,
    scales: Tensor,
    opacities: Tensor,
    colors: Tensor,
    viewmats: Tensor,
    Ks: Tensor,
    width: int,
    height: int,
    near_plane: float = 0.01,
    far_plane: float = 1e10,
    radius_clip: float = 0.0,
    eps2d: float = 0.3,
    sh_degree: int | None = None,
    packed: bool = True,
    tile_size: int = 16,
    backgrounds: Tensor | None = None,
    render_mode: str = "RGB",
    sparse_grad: bool = False,
    absgrad: bool = False,
    rasterize_mode: str = "classic",
    channel_chunk: int = 32,
    distributed: bool = False,
    camera_model: str = "pinhole",
    segmented: bool = False,
    covars: Tensor | None = None,
    with_ut: bool = False,
    with_eval3d: bool = False,
    radial_coeffs: Tensor | None = None,
    tangential_coeffs: Tensor | None = None,
    thin_prism_coeffs: Tensor | None = None,
    ftheta_coeffs: Any = None,
    rolling_shutter: Any = None,
    viewmats_rs: Tensor | None = None,
) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Draw N Gaussians into C pictures, differentiably. Same arguments, shapes and meaning as `gsplat.rasterization`
    1.5.

    Leading dimensions "..." (possibly none) are batches of scenes. All tensors float32 on the CPU.

    | argument | |
    |---|---|
    | means [..., N, 3], scales [..., N, 3], opacities [..., N] | supported, with gradients |
    | quats [..., N, 4] (w, x, y, z), any length | supported, with gradients |
    | colors [..., (C,) N, D] post-activation | supported, with gradients |
    | colors [..., (C,) N, K, 3] SH coefficients, with sh_degree | supported, with gradients |
    | sh_degree None or 0 to 3, (sh_degree + 1)^2 <= K | supported; unused coefficients get zero gradients |
    | viewmats [..., C, 4, 4] world to camera | supported, with gradients |
    | Ks [..., C, 3, 3] pixels | supported, no gradient (as in gsplat) |
    | width, height | supported, up to 2^20 |
    | near_plane, far_plane, radius_clip, eps2d | supported; z <= 0 is always culled |
    | backgrounds [..., C, D] | supported, with gradients |
    | render_mode "RGB", "D", "ED", "RGB+D", "RGB+ED" | supported |
    | rasterize_mode "classic", "antialiased" | supported |
    | absgrad | supported for up to 16 channels |
    | packed | ignored: `meta` is that of packed=False |
    | tile_size, channel_chunk, segmented | ignored: they do not change results |
    | sparse_grad, distributed, covars, with_ut, with_eval3d | NotImplementedError |
    | lens distortion, rolling shutter, other camera models | NotImplementedError |

    Returns:
        colors [..., C, height, width, X]: X is D, 1 (depth alone) or D + 1 (depth last). alphas [..., C, height,
        width, 1].
        meta, a subset of gsplat's: means2d [..., C, N, 2] (retain_grad() it; .absgrad after backward with
        absgrad=True),
        radii [..., C, N, 2] int32 (0: culled), depths [..., C, N], conics [..., C, N, 3], opacities [..., C, N]
        (compensated if
        antialiased), width, height, tile_size, n_batches, n_cameras.

    Results and gradients are bit-equal for any number of threads (kernels.pool.set_threads). Raises ValueError for
    wrong shapes, InputError for pictures beyond the stated limits.
    """
    for name, given in {
        "sparse_grad": sparse_grad,
        "distributed": distributed,
        "covars": covars is not None,
        "with_ut": with_ut,
        "with_eval3d": with_eval3d,
        "lens distortion": any(
            c is not None for c in (radial_coeffs, tangential_coeffs, thin_prism_coeffs, ftheta_coeffs)
        ),
        "rolling shutter": viewmats_rs is not None or getattr(rolling_shutter, "name", "GLOBAL") != "GLOBAL",
    }.items():
        refuse(name, given)
    if render_mode not in MODES:
        raise ValueError(f"render_mode is {render_mode!r}, wanted one of {', '.join(MODES)}")
    if rasterize_mode not in ("classic", "antialiased"):
        raise ValueError(f"rasterize_mode is {rasterize_mode!r}, wanted classic or antialiased")
    batch, n, views = tuple(means.shape[:-2]), means.shape[-2], viewmats.shape[-3]
    expect("opacities", opacities, (*batch, n))
    antialiased = rasterize_mode == "antialiased"

    radii, means2d, depths, conics, compensations = fully_fused_projection(
        means, None, quats, scales, viewmats, Ks, width, height, eps2d, near_plane, far_plane, radius_clip,
        calc_compensations=antialiased, camera_model=camera_model, opacities=opacities,
    )  # fmt: skip
    faint = opacities.unsqueeze(-2).expand(*batch, views, n)
    if compensations is not None:
        faint = faint * compensations

    planes, grounds = [], []
    if render_mode.startswith("RGB"):
        planes.append(_colours(colors, sh_degree, means, viewmats, radii, batch, views, n))
        if backgrounds is not None:
            expect("backgrounds", backgrounds, (*batch, views, planes[0].shape[-1]))
            grounds.append(backgrounds)
    if render_mode.endswith("D"):
        planes.append(depths.unsqueeze(-1))
        if grounds:
            grounds.append(torch.zeros((*batch, views, 1)))
    image, alphas = rasterize_to_pixels(
        means2d, conics, planes[0] if len(planes) == 1 else torch.cat(planes, -1), faint, width, height,
        backgrounds=None if not grounds else grounds[0] if len(grounds) == 1 else torch.cat(grounds, -1),
        absgrad=absgrad, depths=depths, radii=radii,
    )  # fmt: skip
    if render_mode.endswith("ED"):
        mean_depth = image[..., -1:] / alphas.clamp(min=1e-10)
        image = torch.cat([image[..., :-1], mean_depth], -1)
    meta = {
        "means2d": means2d,
        "radii": radii,
        "depths": depths,
        "conics": conics,
        "opacities": faint,
        "width": width,
        "height": height,
        "tile_size": tile_size,
        "n_batches": math.prod(batch),
        "n_cameras": views,
    }
    return image, alphas, meta


def _centres(viewmats: Tensor) -> Tensor:
    """Camera positions [..., C, 3] in the world."""
    if viewmats.requires_grad and torch.is_grad_enabled():
        return torch.linalg.inv(viewmats)[..., :3, 3]
    return torch.from_numpy(np.linalg.inv(viewmats.detach().double().numpy())[..., :3, 3]).float()


def _colours(
    colors: Tensor,
    sh_degree: int | None,
    means: Tensor,
    viewmats: Tensor,
    radii: Tensor,
    batch: tuple[int, ...],
    views: int,
    n: int,
) -> Tensor:
    """Post-activation colours [..., C, N, D]."""
    if sh_degree is None:
        if colors.dim() == len(batch) + 2:
            expect("colors", colors, (*batch, n, colors.shape[-1]))
            return colors.unsqueeze(-3).expand(*batch, views, n, colors.shape[-1])
        expect("colors", colors, (*batch, views, n, colors.shape[-1]))
        return colors
    per_view = colors.dim() == len(batch) + 4
    expect("colors", colors, (*batch, *((views,) if per_view else ()), n, colors.shape[-2], 3))
    centres = _centres(viewmats)
    if not batch:
        return harmonics_colours(sh_degree, means, centres, colors, radii)
    count = math.prod(batch)
    flat = colors.reshape(count, *colors.shape[len(batch) :])
    each = [
        harmonics_colours(sh_degree, m, o, k, r)
        for m, o, k, r in zip(
            means.reshape(count, n, 3),
            centres.reshape(count, views, 3),
            flat,
            radii.reshape(count, views, n, 2),
            strict=True,
        )
    ]
    return torch.stack(each).view(*batch, views, n, 3)
