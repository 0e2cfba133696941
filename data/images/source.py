"""The lazy image of one view: a file and everything that is to be done to its pixels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..lenses import Lens
from ..scene import Pixels
from .decode import decode, decode_mask, premultiply, turn
from .resize import nearest, shrink
from .undistort import rectify, undistort, undistort_mask


@dataclass(frozen=True)
class PhotoSource:
    """An `ImageSource` over one file; thread-safe, holds no pixels.

    orientation    EXIF turn to apply, 1 for none
    lens           the camera that took the turned photo, or None where it is a pinhole already
    width, height  of the result
    mask           mask file (white keeps), any size of the same aspect; `invert_mask` swaps its meaning
    """

    path: Path
    width: int
    height: int
    orientation: int = 1
    lens: Lens | None = None
    mask: Path | None = None
    invert_mask: bool = False

    def load(self) -> Pixels:
        """Decode, turn, premultiply, undistort, shrink. Raises InputError naming the file."""
        rgb, alpha = decode(self.path)
        stored = rgb.shape[:2]
        if alpha is not None and alpha.min() == 255:
            alpha = None
        image = rgb if alpha is None else np.dstack([premultiply(rgb, alpha), alpha])
        image = turn(image, self.orientation)
        if self.lens is not None and image.shape[:2] != (self.lens.height, self.lens.width):
            h, w = image.shape[:2]
            raise InputError(
                f"{self.path} changed: {w}x{h} now, {self.lens.width}x{self.lens.height} when it was listed"
            )
        mask = self._mask(stored, image.shape[:2])
        if self.lens is not None:
            image = undistort(image, self.lens)
        image = shrink(image, self.width, self.height)
        keep = None if mask is None else nearest(mask, self.width, self.height)
        if alpha is None:
            return Pixels(image, None, keep)
        return Pixels(np.ascontiguousarray(image[..., :3]), np.ascontiguousarray(image[..., 3]), keep)

    def mask_share(self) -> float:
        """Share of the mask file's pixels that count, 1.0 without one. Decodes the mask alone."""
        return 1.0 if self.mask is None else float(decode_mask(self.mask, self.invert_mask).mean())

    def _mask(self, stored: tuple[int, int], turned: tuple[int, int]) -> np.ndarray | None:
        """[H, W] bool at the photo's turned size, undistorted; None where every pixel counts."""
        keep = None
        if self.mask is not None:
            keep = decode_mask(self.mask, self.invert_mask)
            if keep.shape == stored != turned:  # drawn over the file as stored: turn it likewise
                keep = turn(keep, self.orientation)
            h, w = turned
            if abs(keep.shape[1] * h - keep.shape[0] * w) > 0.02 * keep.shape[1] * h:
                raise InputError(
                    f"mask {self.mask} is {keep.shape[1]}x{keep.shape[0]}, its image {w}x{h}: the shapes do not match"
                )
            keep = nearest(keep, w, h)
        if self.lens is None:
            return keep
        if keep is None:
            if rectify(self.lens).full:
                return None
            keep = np.ones(turned, bool)
        return undistort_mask(keep, self.lens)
