"""What EXIF says about how a photo was taken: camera, focal length, place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .probe import open_image


@dataclass(frozen=True)
class Exif:
    """Fields that are absent or nonsense are '' or None. Focal lengths in mm, latitude and longitude in degrees,
    altitude in m.

    plane_px_per_mm  horizontal pixels per mm on the sensor, at the size the photo was taken (`taken_width` pixels)
    """

    make: str = ""
    model: str = ""
    focal: float | None = None
    focal_35mm: float | None = None
    plane_px_per_mm: float | None = None
    taken_width: float | None = None
    gps: tuple[float, float, float | None] | None = None

    def focal_px(self, width: int, height: int) -> float | None:
        """Focal length in pixels of an image of this size, or None. 35 mm film is 36 mm on its long side."""
        longest = max(width, height)
        estimate = None
        if self.focal_35mm:
            estimate = self.focal_35mm / 36.0 * longest
        elif self.focal and self.plane_px_per_mm and self.taken_width:
            estimate = self.focal * self.plane_px_per_mm * longest / self.taken_width
        return estimate if estimate is not None and 0.2 * longest < estimate < 20.0 * longest else None


_MM_PER_UNIT = {2: 25.4, 3: 10.0, 4: 1.0, 5: 0.001}


def read_exif(path: Path) -> Exif:
    """Never raises; what cannot be read is absent."""
    try:
        with open_image(path) as image:
            exif = image.getexif()
            shot, gps = exif.get_ifd(0x8769), exif.get_ifd(0x8825)
    except Exception:
        return Exif()
    unit = _MM_PER_UNIT.get(shot.get(0xA210, 2), 25.4)
    resolution = _number(shot.get(0xA20E))
    taken = max(_number(shot.get(0xA002)) or 0.0, _number(shot.get(0xA003)) or 0.0)
    return Exif(
        _text(exif.get(0x010F)),
        _text(exif.get(0x0110)),
        _number(shot.get(0x920A)),
        _number(shot.get(0xA405)),
        resolution / unit if resolution else None,
        taken or None,
        _place(gps),
    )


def _text(value: Any) -> str:
    """Some cameras pad with NULs."""
    return value.replace("\0", " ").strip() if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    """A positive finite number or None (0 means unknown in EXIF)."""
    try:
        result = float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return result if math.isfinite(result) and result > 0 else None


def _place(gps: dict[int, Any]) -> tuple[float, float, float | None] | None:
    try:
        latitude, longitude = (
            sum(float(part) / 60**i for i, part in enumerate(gps[tag]))
            * (-1 if str(gps[tag - 1]).upper() in "SW" else 1)
            for tag in (2, 4)
        )
        altitude = float(gps[6]) * (-1 if gps.get(5) in (1, b"\x01") else 1) if 6 in gps else None
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return (latitude, longitude, altitude) if math.isfinite(latitude + longitude) and (latitude or longitude) else None
