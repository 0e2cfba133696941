"""What a rendered picture is compared with: the photo on the background that the renderer draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..data import philox
from ..data.errors import InputError
from ..data.scene import Pixels

NAMED = {"white": (1.0, 1.0, 1.0), "black": (0.0, 0.0, 0.0)}
Colour = tuple[float, float, float]


def fixed_background(setting: str | Sequence[float], has_alpha: bool) -> Colour:
    """The background of evaluation and export: the one that is set, else white under photos with alpha and black elsewhere."""
    if isinstance(setting, str):
        if setting in NAMED:
            return NAMED[setting]
        if setting in ("auto", "random"):
            return NAMED["white"] if has_alpha else NAMED["black"]
    else:
        values = [float(v) for v in setting]
        if len(values) == 3 and all(0 <= v <= 1 for v in values):
            return values[0], values[1], values[2]
    raise InputError(f"train.background={setting}: want auto, white, black, random or [r,g,b] within 0..1")


def random_background(seed: int, step: int) -> Colour:
    r, g, b = philox.uniform(seed, "background", step, np.zeros(1, np.int64), 3)[0]
    return float(r), float(g), float(b)


def target(pixels: Pixels, background: Colour) -> torch.Tensor:
    """[H, W, 3]: uint8 as decoded for an opaque photo (no copy), float32 in 0..1 composited on the background otherwise."""
    if pixels.alpha is None:
        return torch.from_numpy(pixels.rgb)
    clear = (255 - pixels.alpha.astype(np.float32))[..., None]
    return torch.from_numpy((pixels.rgb + clear * np.asarray(background, np.float32)) / np.float32(255))


def as_float(image: torch.Tensor) -> torch.Tensor:
    return image.float() / 255 if image.dtype == torch.uint8 else image
