"""The training loss of 3D Gaussian Splatting: (1 - w) L1 + w (1 - SSIM), with zeros beyond the image border."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

SSIM_C1, SSIM_C2 = 0.01**2, 0.03**2


def photometric_loss(pred: Tensor, target: Tensor, ssim_weight: float = 0.2, mask: Tensor | None = None) -> Tensor:
    """(1 - ssim_weight) * L1 + ssim_weight * (1 - SSIM), a scalar that is differentiable with respect to `pred`.

    pred    [H, W, C] float32, linear 0..1
    target  [H, W, C] float32 0..1, or uint8 0..255
    mask    [H, W] bool, True where pixels count, or None (all)

    L1 is the mean over the pixels that count. SSIM (11 taps, sigma 1.5, per channel) is the mean of its map over the
    same pixels, computed with the prediction replaced by the target elsewhere; so pixels that do not count give neither
    loss nor gradient, and a window that reaches over them is not disturbed by them. With no pixel that counts the loss
    is 0. CPU tensors go through one fused kernel (bit-equal for any number of threads), others through torch
    operations.
    """
    if pred.dim() != 3 or pred.shape != target.shape:
        raise ValueError(f"pred {list(pred.shape)} and target {list(target.shape)}, wanted both [H, W, C]")
    if mask is not None and mask.shape != pred.shape[:2]:
        raise ValueError(f"mask has shape {list(mask.shape)}, wanted {list(pred.shape[:2])}")
    if pred.device.type != "cpu":
        return photometric_loss_torch(pred, target, ssim_weight, mask)
    wanted = torch.is_grad_enabled() and pred.requires_grad
    return _Photometric.apply(pred, target, float(ssim_weight), mask, wanted)  # pyright: ignore[reportReturnType]


class _Photometric(torch.autograd.Function):
    """Loss and gradient in one go: the gradient only waits to be scaled."""

    @staticmethod
    def forward(ctx: Any, pred: Tensor, target: Tensor, weight: float, mask: Tensor | None, wanted: bool) -> Tensor:
        from ..kernels import pool
        from ..kernels.recycle import take
        from ..kernels.tensors import array, recycled
        from .photometric_kernels import BAND, padded, photometric_backward, photometric_forward

        height, width, channels = pred.shape
        if target.dtype == torch.uint8:
            truth, scale = target.detach().contiguous().numpy(), np.float32(1 / 255)
        else:
            truth, scale = array(target), np.float32(1)
        count = height * width
        flags = np.empty(0, np.bool_)
        if mask is not None:
            flags = mask.detach().to(torch.bool).contiguous().numpy()
            count = int(np.count_nonzero(flags))
            flags = flags.reshape(-1)
        bands = -(-height // BAND)
        maps = take((3, height, padded.py_func(width * channels)))
        sums = np.zeros((bands, 2))
        guess = array(pred)
        args = (height, width, channels, guess.reshape(-1), truth.reshape(-1), scale, flags, mask is not None, maps)
        pool.run(photometric_forward, bands, *args, sums)
        numbers = max(count * channels, 1)
        l1, ssim = sums.sum(0) / numbers
        loss = (1 - weight) * l1 + weight * (1 - ssim) if count else 0.0
        if wanted:
            gradient, memory = recycled((height, width, channels))
            factors = np.float32((1 - weight) / numbers), np.float32(-weight / numbers)
            pool.run(photometric_backward, bands, *args, *factors, memory)
            ctx.gradient = gradient
        return pred.new_tensor(loss, requires_grad=False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        factor = gradients[0].item()
        return ctx.gradient if factor == 1 else ctx.gradient * factor, None, None, None, None


def photometric_loss_torch(
    pred: Tensor, target: Tensor, ssim_weight: float = 0.2, mask: Tensor | None = None
) -> Tensor:
    """photometric_loss in plain torch operations, on any device."""
    target = target.to(pred.dtype) / 255 if target.dtype == torch.uint8 else target
    weight = torch.ones_like(pred[..., :1]) if mask is None else mask[..., None].to(pred.dtype)
    x = pred if mask is None else torch.where(mask[..., None], pred, target)
    numbers = (weight.sum() * pred.shape[-1]).clamp(min=1)
    l1 = (x - target).abs().sum() / numbers
    ssim = (ssim_map(x, target) * weight).sum() / numbers
    return ((1 - ssim_weight) * l1 + ssim_weight * (1 - ssim)) * (weight.sum() > 0)


def ssim_map(x: Tensor, y: Tensor, border: str = "zero") -> Tensor:
    """SSIM of every pixel and channel of two images [H, W, C] in 0..1; beyond the border "zero" or "reflect"
    (torchmetrics)."""
    channels = x.shape[-1]
    taps = torch.exp(-0.5 * (torch.arange(-5, 6, device=x.device, dtype=x.dtype) / 1.5) ** 2)
    taps = taps / taps.sum()
    stack = torch.stack([x, y, x * x, y * y, x * y]).permute(0, 3, 1, 2).reshape(5 * channels, 1, *x.shape[:2])
    stack = F.pad(stack, (5, 5, 5, 5), mode="reflect" if border == "reflect" else "constant")
    stack = F.conv2d(F.conv2d(stack, taps.view(1, 1, 1, 11)), taps.view(1, 1, 11, 1))
    mx, my, xx, yy, xy = stack.view(5, channels, *x.shape[:2]).permute(0, 2, 3, 1)
    vx, vy, cov = xx - mx * mx, yy - my * my, xy - mx * my
    if border == "reflect":
        vx, vy = vx.clamp(min=0), vy.clamp(min=0)
    top = (2 * mx * my + SSIM_C1) * (2 * cov + SSIM_C2)
    return top / ((mx * mx + my * my + SSIM_C1) * (vx + vy + SSIM_C2))
