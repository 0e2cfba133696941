"""Blending of projected Gaussians as a differentiable torch function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...kernels import pool
from ...kernels.groups import channels as witness
from ...kernels.recycle import take
from ...kernels.tensors import array, recycled
from .blend import ROWS, blend_backward, blend_forward, gather_slots, slot_floats
from .checks import expect, refuse
from .sort import depth_order
from .tiles import GROUP, MAX_NATIVE, Tiles, build, record_floats

NATIVE = (1, 3, 4, 8, 16)  # channel counts that kernels are compiled for; others are padded to the next


def padded(depth: int) -> tuple[int, ...]:
    """The witness of the compiled channel count for `depth` channels."""
    return witness(next(n for n in NATIVE if n >= depth))


class _Blending(torch.autograd.Function):
    """means2d [C, N, 2], conics, colours [C, N, D <= 16], opacities, backgrounds [C, D] -> image [C, H, W, D], alphas
    [C, H, W]."""

    @staticmethod
    def forward(
        ctx: Any, means2d: Tensor, conics: Tensor, colours: Tensor, opacities: Tensor, backgrounds: Tensor | None,
        depths: Tensor, radii: Tensor, width: int, height: int, absgrad: bool, keep: bool,
    ) -> Any:  # fmt: skip
        views, depth = colours.shape[0], colours.shape[2]
        image, a_image = recycled((views, height, width, depth))
        alphas, a_alphas = recycled((views, height, width))
        ground = np.zeros((views, depth), np.float32) if backgrounds is None else array(backgrounds)
        inputs = [array(t) for t in (means2d, conics, colours, opacities)]
        a_depths, a_radii = array(depths), radii.detach().to(torch.int32).contiguous().numpy()
        states = []
        for c in range(views):
            order = depth_order(a_depths[c], a_radii[c])
            tiles = build(order, inputs[0][c], inputs[1][c], inputs[2][c], inputs[3][c], width, height)
            states.append(_draw(tiles, ground[c], a_image[c], a_alphas[c], keep))
        if keep:
            ctx.save_for_backward(means2d, conics, colours, opacities, image, alphas)
            ctx.states, ctx.absgrad = states, absgrad
        ctx.set_materialize_grads(False)
        return image, alphas

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        means2d, conics, colours, opacities, image, alphas = ctx.saved_tensors
        views, n, depth = colours.shape
        use_alphas = gradients[1] is not None
        v_image = np.zeros(image.shape, np.float32) if gradients[0] is None else array(gradients[0])
        v_alphas = np.empty((views, 0), np.float32) if gradients[1] is None else array(gradients[1])
        v_means2d, a_means2d = recycled((views, n, 2))
        v_conics, a_conics = recycled((views, n, 3))
        v_colours, a_colours = recycled((views, n, depth))
        v_opacities, a_opacities = recycled((views, n))
        v_absolute, a_absolute = recycled((views, n, 2) if ctx.absgrad else (views, 0, 2))
        saved = [array(t) for t in (conics, opacities, image, alphas)]
        for c in range(views):
            outputs = [a[c] for a in (a_means2d, a_conics, a_colours, a_opacities, a_absolute)]
            inputs = [a[c] for a in (*saved, v_image, v_alphas)]
            _differentiate(ctx.states[c], inputs, use_alphas, ctx.absgrad, outputs)
        if ctx.absgrad:
            means2d.absgrad = v_absolute
        v_backgrounds = None
        if ctx.needs_input_grad[4]:
            shine = (v_image * (1.0 - array(alphas))[..., None]).reshape(views, -1, depth)
            v_backgrounds = torch.from_numpy(shine.sum(1, dtype=np.float64).astype(np.float32))
        return (v_means2d, v_conics, v_colours, v_opacities, v_backgrounds, *[None] * 6)


def _draw(tiles: Tiles, background: np.ndarray, image: np.ndarray, alphas: np.ndarray, keep: bool) -> tuple:
    """One image; returns what its backward pass needs."""
    depth = image.shape[-1]
    count = tiles.across * tiles.down
    ends = take((tiles.height, tiles.width) if keep else (0, 0), np.int32)
    reached = take(len(tiles.entries) if keep else 0, np.uint64)
    tile_ends = take(count, np.int64)
    pool.run(
        blend_forward, count, tiles.across, tiles.tile_height, tiles.width, tiles.height,
        tiles.starts, tiles.entries, tiles.records, record_floats(depth), background, depth, keep,
        image, alphas, ends, reached, tile_ends, padded(depth),
    )  # fmt: skip
    return (tiles, ends, reached, tile_ends) if keep else ()


def _differentiate(
    state: tuple, inputs: list[np.ndarray], use_alphas: bool, absgrad: bool, outputs: list[np.ndarray]
) -> None:
    """Gradients of one image, written to `outputs`. inputs: conics, opacities, image, alphas, v_image, v_alphas."""
    conics, opacities, image, alphas, v_image, v_alphas = inputs
    tiles, ends, reached, tile_ends = state
    depth = image.shape[-1]
    counted, absolute = padded(depth), witness(int(absgrad))
    size = slot_floats(len(counted), absgrad)
    count = int(tiles.slots[-1])
    slots, used = take((count, size)), take(count, np.uint8)
    used.fill(0)
    groups = -(-tiles.across // GROUP) * tiles.down
    pool.run(
        blend_backward, groups, tiles.across, tiles.tile_height, tiles.width, tiles.height,
        tiles.starts, tiles.entries, tiles.records, record_floats(depth), depth, image, alphas, ends, reached,
        tile_ends,
        v_image, v_alphas, use_alphas, size, slots, used, counted, absolute,
    )  # fmt: skip
    n = len(opacities)
    pool.run(
        gather_slots, -(-n // ROWS), n, tiles.slots, size, slots, used, conics, opacities, depth,
        *outputs, counted, absolute,
    )  # fmt: skip


def rasterize_to_pixels(
    means2d: Tensor,
    conics: Tensor,
    colors: Tensor,
    opacities: Tensor,
    image_width: int,
    image_height: int,
    tile_size: int = 16,
    isect_offsets: Tensor | None = None,
    flatten_ids: Tensor | None = None,
    backgrounds: Tensor | None = None,
    masks: Tensor | None = None,
    packed: bool = False,
    absgrad: bool = False,
    *,
    depths: Tensor,
    radii: Tensor,
) -> tuple[Tensor, Tensor]:
    """gsplat's function of this name, except that it makes its own tile lists: instead of them it is given depths and
    radii.

    Args:
        means2d: [..., N, 2] pixels. conics: [..., N, 3] (A, B, C). opacities: [..., N]. colors: [..., N, D], any D >=
        1. backgrounds: [..., D] or None (black). depths: [..., N], front to back, ties by index. radii: [..., N, 2]
        int; Gaussians with a 0 are not drawn. absgrad: leave the absolute gradient in means2d.absgrad on the way back
        (up to 16 channels). tile_size, isect_offsets, flatten_ids: ignored. masks, packed: NotImplementedError.

    Returns:
        image [..., H, W, D] and alphas [..., H, W, 1]. Differentiable with respect to means2d, conics, colors,
        opacities, backgrounds. Gaussians with any number that is not finite are not drawn and get zero gradients.
    """
    refuse("masks", masks is not None)
    refuse("packed", packed)
    front, n, depth = tuple(colors.shape[:-2]), colors.shape[-2], colors.shape[-1]
    expect("means2d", means2d, (*front, n, 2))
    expect("conics", conics, (*front, n, 3))
    expect("opacities", opacities, (*front, n))
    expect("depths", depths, (*front, n))
    if image_width < 1 or image_height < 1 or depth < 1:
        raise ValueError(f"image of {image_width}x{image_height} with {depth} channels, wanted at least 1 of each")
    if backgrounds is not None:
        expect("backgrounds", backgrounds, (*front, depth))
    refuse(f"absgrad with more than {MAX_NATIVE} channels", absgrad and depth > MAX_NATIVE)
    keep = torch.is_grad_enabled() and any(
        t is not None and t.requires_grad for t in (means2d, conics, colors, opacities, backgrounds)
    )
    count = math.prod(front)
    flat = means2d if len(front) == 1 else means2d.reshape(count, n, 2)  # absgrad is left on this very tensor
    images, alphas = [], None
    for first in range(0, depth, MAX_NATIVE):
        last = min(depth, first + MAX_NATIVE)
        image, alpha = _Blending.apply(
            flat,
            conics.reshape(count, n, 3),
            colors[..., first:last].reshape(count, n, last - first),
            opacities.reshape(count, n),
            None if backgrounds is None else backgrounds[..., first:last].reshape(count, last - first),
            depths.reshape(count, n), radii.reshape(count, n, 2), image_width, image_height, absgrad, keep,
        )  # fmt: skip  # pyright: ignore[reportGeneralTypeIssues]
        images.append(image)
        alphas = alpha if alphas is None else alphas
    assert alphas is not None
    image = images[0] if len(images) == 1 else torch.cat(images, -1)
    return image.view(*front, image_height, image_width, depth), alphas.view(*front, image_height, image_width, 1)
