"""How close two pictures are. Images [H, W, C] float in 0..1 (or uint8), masks [H, W] bool: True where pixels count."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .photometric import ssim_map


def psnr(a: Tensor, b: Tensor, mask: Tensor | None = None) -> float:
    """Peak signal-to-noise ratio [dB] for a peak of 1: -10 log10 of the mean squared error over the pixels that count.

    inf for equal pictures, nan if no pixel counts.
    """
    difference = (_double(a) - _double(b)) ** 2
    if mask is not None:
        difference = difference[mask]
    if difference.numel() == 0:
        return math.nan
    error = float(difference.mean())
    return math.inf if error == 0 else -10 * math.log10(error)


def ssim(a: Tensor, b: Tensor, mask: Tensor | None = None) -> float:
    """Structural similarity by the rule of torchmetrics' StructuralSimilarityIndexMeasure(data_range=1).

    11 taps, sigma 1.5, pictures reflected at the border, mean over all pixels that count and channels. With a mask, `a`
    is replaced by `b` where pixels do not count, so that they disturb no window. Needs at least 6 pixels per side; nan
    if no pixel counts.
    """
    x, y = _double(a), _double(b)
    if min(x.shape[:2]) < 6:
        raise ValueError(f"picture of {x.shape[1]}x{x.shape[0]} pixels, wanted at least 6 per side for SSIM")
    if mask is None:
        return float(ssim_map(x, y, "reflect").mean())
    if not bool(mask.any()):
        return math.nan
    return float(ssim_map(torch.where(mask[..., None], x, y), y, "reflect")[mask].mean())


def _double(image: Tensor) -> Tensor:
    image = image.detach()
    return image.double() / 255 if image.dtype == torch.uint8 else image.double()
