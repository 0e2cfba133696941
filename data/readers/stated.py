"""What a capture states before images are looked into and anything is decided: from readers to `capture.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from ..lenses import Lens
from ..scene import Fact, Points

NO_POINTS = Points(np.zeros((0, 3)), np.zeros((0, 3), np.uint8))


class StatedLens(Protocol):
    """Intrinsics that may need the image's size to be complete."""

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height as stated, or None."""
        ...

    def complete(self, width: int, height: int) -> Lens:
        """The lens, given the size of the image where none is stated."""
        ...


@dataclass(frozen=True)
class KnownLens:
    """A lens that is complete as stated."""

    lens: Lens

    @property
    def size(self) -> tuple[int, int]:
        return self.lens.width, self.lens.height

    def complete(self, width: int, height: int) -> Lens:
        return self.lens


@dataclass(frozen=True)
class Shot:
    """One listed photo.

    name             as listed, relative to the capture, with '/' separators and its real ending
    path             the file, or None where it was not found
    lens             intrinsics
    world_to_camera  [4, 4] float64 in OpenCV axes and the input's world; may still be non-rigid or not finite
    mask             a mask the listing itself names
    held_out         True or False where the capture itself splits, else None
    time             seconds, or None
    """

    name: str
    path: Path | None
    lens: StatedLens
    world_to_camera: np.ndarray
    mask: Path | None = None
    held_out: bool | None = None
    time: float | None = None


@dataclass(frozen=True)
class Capture:
    """A capture as stated.

    root     the folder whose name the capture bears
    upright  photos are turned by EXIF always (their poses come from our own SfM), not only where the stated size asks
             for it
    folders  where masks/ may lie beside
    """

    kind: str
    root: Path
    shots: tuple[Shot, ...]
    points: Points = NO_POINTS
    facts: tuple[Fact, ...] = ()
    upright: bool = False
    folders: tuple[Path, ...] = field(default=())


def some(names: list[str] | tuple[str, ...], most: int = 3) -> str:
    """`a.jpg, b.jpg, c.jpg and 14 more`."""
    shown = ", ".join(str(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
