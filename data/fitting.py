"""Bring a photo's pixels and its camera's stated size together: EXIF turns, scaled photos, unknown sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import InputError
from .images.probe import Probe
from .lenses import Lens
from .readers.stated import Shot


@dataclass(frozen=True)
class Fitted:
    """lens: for the photo as delivered; orientation: the EXIF turn to apply; ambiguous: the sizes left it open."""

    lens: Lens
    orientation: int
    ambiguous: bool = False
    rescaled: bool = False


def fit_all(shots: Sequence[Shot], probes: Sequence[Probe], upright: bool) -> list[Fitted]:
    """One answer per shot. `upright`: poses come from upright photos, always turn.

    Else the turn is the one that makes the pixels match the stated size. Where both do (180 degree turns, square
    photos, no size stated) the capture's other photos decide; without any the file's pixels are taken as stored, as
    COLMAP and instant-ngp do.
    Raises InputError naming the image and both sizes where neither matches.
    """
    votes = [_turned(s, p) for s, p in zip(shots, probes, strict=True)]
    turn_open = upright or any(votes)
    return [_fit(s, p, v, turn_open, upright) for s, p, v in zip(shots, probes, votes, strict=True)]


def _same_shape(stated: tuple[int, int], actual: tuple[int, int]) -> bool:
    """Equal, or one a scaled copy of the other up to rounding of its sides."""
    (w, h), (W, H) = stated, actual
    return abs(H - h * W / w) <= 1.0 + W / w and abs(W - w * H / h) <= 1.0 + H / h


def _turned(shot: Shot, probe: Probe) -> bool | None:
    """Whether the stated size asks for the EXIF turn; None where it says nothing."""
    stated = shot.lens.size
    if stated is None or probe.orientation == 1:
        return None
    stored = (probe.width, probe.height)
    as_stored, as_upright = _same_shape(stated, stored), _same_shape(stated, probe.upright_size)
    if as_stored and as_upright:  # near-square photos: an exact size speaks before a similar shape
        as_stored, as_upright = stated == stored, stated == probe.upright_size
    return as_upright if as_stored != as_upright else None


def _fit(shot: Shot, probe: Probe, vote: bool | None, turn_open: bool, upright: bool) -> Fitted:
    turn = upright or (turn_open if vote is None else vote)
    orientation = probe.orientation if turn else 1
    width, height = probe.upright_size if turn else (probe.width, probe.height)
    stated = shot.lens.size
    if stated is not None and not _same_shape(stated, (width, height)):
        other = f" (EXIF orientation {probe.orientation})" if probe.orientation != 1 else ""
        raise InputError(
            f"{shot.name} is {probe.width}x{probe.height}{other}, but its camera says "
            f"{stated[0]}x{stated[1]}: neither the size nor the shape agree; "
            "data.image_path may point at other photos than the poses were made from"
        )
    lens = shot.lens.complete(width, height)
    _check(lens, shot.name)
    rescaled = (lens.width, lens.height) != (width, height)
    return Fitted(
        lens.scaled(width, height) if rescaled else lens, orientation, vote is None and probe.orientation != 1, rescaled
    )


def _check(lens: Lens, name: str) -> None:
    if not all(math.isfinite(v) for v in lens.params) or min(lens.focal, default=0.0) <= 0:
        lens.require_supported()
        raise InputError(f"{name}: its camera ({lens.model} {lens.params}) has no positive, finite focal length")


def implausible(lens: Lens) -> bool:
    """Focal lengths no real camera has: under 0.15 or above 12 times the longer side (about 5 degrees)."""
    ratio = max(lens.focal) / max(lens.width, lens.height)
    return not 0.15 <= ratio <= 12.0
