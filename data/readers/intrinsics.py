"""The intrinsics of one transforms.json frame: its own values first, the file's root as default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..lenses import Lens

_PERSPECTIVE = ("OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "PERSPECTIVE", "SIMPLE_RADIAL", "RADIAL", "FULL_OPENCV")
_FISHEYE = ("OPENCV_FISHEYE", "FISHEYE")
_COEFFICIENTS = ("k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2")


@dataclass(frozen=True)
class PartialLens:
    """Intrinsics that may need the image's own size. Angles in radians, the rest in pixels; None = not stated."""

    width: int | None
    height: int | None
    fx: float | None
    fy: float | None
    cx: float | None
    cy: float | None
    angle_x: float | None
    angle_y: float | None
    fisheye: bool
    coefficients: tuple[float, ...]

    @property
    def size(self) -> tuple[int, int] | None:
        return None if self.width is None or self.height is None else (self.width, self.height)

    def complete(self, width: int, height: int) -> Lens:
        """fl_x wins over camera_angle_x; one focal serves both axes; the centre defaults to the middle."""
        w, h = self.size or (width, height)
        fx, fy = self.fx, self.fy
        if fx is None and fy is None:
            fx = 0.5 * w / math.tan(0.5 * self.angle_x) if self.angle_x else None
            fy = 0.5 * h / math.tan(0.5 * self.angle_y) if self.angle_y else None
        fx, fy = (fy if fx is None else fx), (fx if fy is None else fy)
        assert fx is not None, "read_intrinsics refuses frames without any focal length"
        assert fy is not None
        cx = 0.5 * w if self.cx is None else self.cx
        cy = 0.5 * h if self.cy is None else self.cy
        k1, k2, k3, k4, k5, k6, p1, p2 = self.coefficients
        base = (fx, fy, cx, cy)
        if self.fisheye:
            return Lens("OPENCV_FISHEYE", (*base, k1, k2, k3, k4), w, h)
        if k3 or k4 or k5 or k6:
            return Lens("FULL_OPENCV", (*base, k1, k2, p1, p2, k3, k4, k5, k6), w, h)
        if k1 or k2 or p1 or p2:
            return Lens("OPENCV", (*base, k1, k2, p1, p2), w, h)
        return Lens("PINHOLE", base, w, h)


def read_intrinsics(frame: dict[str, Any], root: dict[str, Any], file: Path) -> PartialLens:
    """Raises InputError where the focal length is absent or a lens model cannot be read."""

    def stated(key: str) -> Any:
        return frame.get(key) if frame.get(key) is not None else root.get(key)

    def number(key: str) -> float | None:
        value = stated(key)
        if value is None:
            return None
        try:
            result = float(value)
        except (TypeError, ValueError):
            result = math.nan
        if not math.isfinite(result):
            raise InputError(f"{file}: {key}={value!r} is not a number")
        return result

    model = str(stated("camera_model") or "OPENCV").upper()
    if stated("is_fisheye") is True:
        model = "OPENCV_FISHEYE"
    for key in ("equirectangular", "is_equirectangular", "ftheta_p0", "latlong"):
        if stated(key):
            raise InputError(f"{file}: lens kind {key!r} cannot be read; convert to perspective images first")
    if model not in _PERSPECTIVE + _FISHEYE:
        raise InputError(f"{file}: camera_model {model!r} cannot be read; known: {', '.join(_PERSPECTIVE + _FISHEYE)}")
    coefficients = tuple(number(k) or 0.0 for k in _COEFFICIENTS)
    if model != "FULL_OPENCV" and model not in _FISHEYE and coefficients[3]:
        raise InputError(
            f"{file}: k4={coefficients[3]} with camera_model {model} is ambiguous (a 4th radial or a rational term); "
            "say camera_model FULL_OPENCV or OPENCV_FISHEYE"
        )
    width, height = number("w"), number("h")
    fx, fy = number("fl_x"), number("fl_y")
    angle_x, angle_y = _angle(number, "camera_angle_x", "x_fov"), _angle(number, "camera_angle_y", "y_fov")
    if not any((fx, fy, angle_x, angle_y)):
        raise InputError(
            f"{file}: no focal length for {frame.get('file_path')}: wanted fl_x or camera_angle_x, in "
            "the frame or the root"
        )
    for key, value in (("fl_x", fx), ("fl_y", fy), ("w", width), ("h", height)):
        if value is not None and value <= 0:
            raise InputError(f"{file}: {key}={value} must be positive")
    for key, angle in (("camera_angle_x", angle_x), ("camera_angle_y", angle_y)):
        if angle is not None and not 0 < angle < math.pi:
            raise InputError(f"{file}: {key}={angle} must lie between 0 and pi (radians)")
    size = (None if width is None else round(width)), (None if height is None else round(height))
    return PartialLens(*size, fx, fy, number("cx"), number("cy"), angle_x, angle_y, model in _FISHEYE, coefficients)


def _angle(number: Any, radians: str, degrees: str) -> float | None:
    value = number(radians)
    if value is None and (turned := number(degrees)) is not None:
        value = math.radians(turned)
    return value
