"""An image file to 8-bit pixels: every common mode, EXIF turn, colour premultiplied by alpha."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .probe import open_image


def decode(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """rgb [H, W, 3] uint8 and alpha [H, W] uint8 or None, as stored (not turned, not premultiplied).

    16-bit grey is scaled, not clipped; grey is repeated to three channels; palettes, CMYK and transparent colours are
    resolved.
    Raises InputError naming the file.
    """
    try:
        with open_image(path) as image:
            image.load()
            return _to_8bit(image, path)
    except InputError:
        raise
    except Exception as e:
        text = (str(e).splitlines() or [type(e).__name__])[0]
        raise InputError(f"cannot decode {path}: {text}; remove the file or put a whole copy in its place") from e


def _to_8bit(image: Any, path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    mode = image.mode
    if mode.startswith("I"):  # I;16, I;16B, I: Pillow's own convert() saturates at 255
        grey = np.asarray(image).astype(np.int64)
        if grey.min() < 0 or grey.max() > 65535:
            raise InputError(
                f"{path}: {mode} pixels outside 0..65535 cannot be read as 16-bit grey; save as 8 or 16 bit"
            )
        grey8 = ((grey * 255 + 32767) // 65535).astype(np.uint8)
        return np.repeat(grey8[..., None], 3, axis=2), None
    if mode == "F":
        raise InputError(f"{path}: floating-point pixels have no agreed white; save as 8 or 16 bit")
    if mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        rgba = np.asarray(image.convert("RGBA"))
        return np.ascontiguousarray(rgba[..., :3]), np.ascontiguousarray(rgba[..., 3])
    return np.array(image.convert("RGB")), None


def turn(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Apply EXIF orientation 1..8 to [H, W, ...] (5..8 swap the sides), so that the picture stands upright."""
    if orientation == 2:
        pixels = pixels[:, ::-1]
    elif orientation == 3:
        pixels = pixels[::-1, ::-1]
    elif orientation == 4:
        pixels = pixels[::-1]
    elif orientation == 5:
        pixels = pixels.swapaxes(0, 1)
    elif orientation == 6:
        pixels = np.rot90(pixels, -1)
    elif orientation == 7:
        pixels = pixels[::-1, ::-1].swapaxes(0, 1)
    elif orientation == 8:
        pixels = np.rot90(pixels, 1)
    return np.ascontiguousarray(pixels)


def premultiply(rgb: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """rgb [H, W, 3] uint8 times alpha [H, W] / 255, rounded to nearest: colours under transparent pixels vanish."""
    product = rgb.astype(np.uint16) * alpha[..., None] + 128
    return ((product + (product >> 8)) >> 8).astype(np.uint8)  # exact division by 255 with rounding


def decode_mask(path: Path, invert: bool = False) -> np.ndarray:
    """[H, W] bool; True (white) keeps. Masks of 0 and 1 instead of 255 are understood; transparent is black."""
    rgb, alpha = decode(path)
    if alpha is not None:
        rgb = premultiply(rgb, alpha)
    value = rgb.max(axis=2)
    keep = value > (0 if value.max() <= 1 else 127)
    return ~keep if invert else keep
