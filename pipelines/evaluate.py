"""Held-out quality: PSNR and SSIM of every test view, in process and from files alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..data.images.cache import ImageCache
from ..data.scene import View
from ..renderers.images.metrics import psnr, ssim
from ..renderers.protocols import Model
from ..renderers.splats.render import SplatRenderer
from .targets import Colour, as_float, target

Save = Callable[[View, np.ndarray, np.ndarray], None]
Recolour = Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]
"""recolour(drawn, photo, mask) -> drawn; pictures [H, W, 3], mask [H, W] or None (all pixels count)."""


@dataclass(frozen=True)
class ViewScore:
    """Scores of one view. masked_* count the pixels of the photo's mask only; None without a mask. seconds: time to draw it."""

    name: str
    psnr: float
    ssim: float
    seconds: float
    masked_psnr: float | None = None
    masked_ssim: float | None = None
    lpips: float | None = None

    def row(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if v is not None}


@torch.no_grad()
def score(
    model: Model,
    renderer: SplatRenderer,
    views: Sequence[View],
    cache: ImageCache,
    background: Colour,
    lpips: Callable[[torch.Tensor, torch.Tensor], float] | None = None,
    save: Save | None = None,
    poses: Callable[[View], torch.Tensor | None] = lambda view: None,
    recolour: Recolour | None = None,
) -> list[ViewScore]:
    """Draw and score views. The picture is clamped to 0..1 first. `save(view, drawn, photo)` receives float32 [H, W, 3]."""
    scores = []
    for view in views:
        pixels = cache.get(view)
        started = time.perf_counter()
        drawn = renderer(model, view.query, background, viewmat=poses(view)).rgb.clamp(0, 1).cpu()
        seconds = time.perf_counter() - started
        photo = as_float(target(pixels, background))
        if recolour is not None:
            mapped = recolour(drawn.numpy(), photo.numpy(), pixels.mask)
            drawn = torch.from_numpy(mapped.astype(np.float32)).clamp(0, 1)
        mask = None if pixels.mask is None else torch.from_numpy(pixels.mask)
        scores.append(
            ViewScore(
                view.name,
                psnr(drawn, photo),
                ssim(drawn, photo),
                seconds,
                None if mask is None else psnr(drawn, photo, mask),
                None if mask is None else ssim(drawn, photo, mask),
                None if lpips is None else lpips(drawn, photo),
            )
        )
        if save is not None:
            save(view, drawn.numpy(), photo.numpy())
    return scores


def mean(scores: Sequence[ViewScore], what: str) -> float | None:
    """Mean over images of one score; None where a view lacks it or there is no view."""
    values = [getattr(s, what) for s in scores]
    return float(np.mean(values)) if values and None not in values else None


def summary(scores: Sequence[ViewScore]) -> dict[str, Any]:
    """The `test` node of metrics.json."""
    keys = ("psnr", "ssim", "lpips")
    node: dict[str, Any] = {k: mean(scores, k) for k in keys}
    if any(s.masked_psnr is not None for s in scores):
        node |= {"masked_psnr": mean(scores, "masked_psnr"), "masked_ssim": mean(scores, "masked_ssim")}
    node["views"] = [s.row() for s in scores]
    return node
