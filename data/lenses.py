"""Lens models: from a ray through the pinhole plane (z = 1) to the pixel where a real lens puts it, and back.

Names and parameter order are COLMAP's (src/colmap/sensor/models.h). Every model is the chain

    pinhole plane (x, y)  --flatten-->  lens plane (u, v)  --bend-->  (u', v')  --focal, centre-->  pixel

flatten  identity, or for fisheyes the equidistant map theta = atan(r) along the ray's direction (Kannala & Brandt
         2006),
         or the one-parameter FOV map (Devernay & Faugeras 2001)
bend     radial polynomial or rational, tangential (Brown 1971) and thin-prism terms
Pixels: the centre of the top left pixel is (0.5, 0.5). Arrays are [..., 2] float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .errors import InputError


class LensModel(NamedTuple):
    """`names`: all parameters in order; `supported`: whether the mathematics below covers the model."""

    id: int
    names: tuple[str, ...]
    fisheye: bool = False
    supported: bool = True


_F, _FF, _C = ("f",), ("fx", "fy"), ("cx", "cy")
_RATIONAL = ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6")
_PRISM = ("k1", "k2", "p1", "p2", "k3", "k4", "sx1", "sy1")

MODELS: dict[str, LensModel] = {
    "SIMPLE_PINHOLE": LensModel(0, _F + _C),
    "PINHOLE": LensModel(1, _FF + _C),
    "SIMPLE_RADIAL": LensModel(2, (*_F, *_C, "k1")),
    "RADIAL": LensModel(3, (*_F, *_C, "k1", "k2")),
    "OPENCV": LensModel(4, (*_FF, *_C, "k1", "k2", "p1", "p2")),
    "OPENCV_FISHEYE": LensModel(5, (*_FF, *_C, "k1", "k2", "k3", "k4"), fisheye=True),
    "FULL_OPENCV": LensModel(6, _FF + _C + _RATIONAL),
    "FOV": LensModel(7, (*_FF, *_C, "omega")),
    "SIMPLE_RADIAL_FISHEYE": LensModel(8, (*_F, *_C, "k1"), fisheye=True),
    "RADIAL_FISHEYE": LensModel(9, (*_F, *_C, "k1", "k2"), fisheye=True),
    "THIN_PRISM_FISHEYE": LensModel(10, _FF + _C + _PRISM, fisheye=True),
    "RAD_TAN_THIN_PRISM_FISHEYE": LensModel(
        11, (*_FF, *_C, *(f"k{i}" for i in range(6)), "p0", "p1", "s0", "s1", "s2", "s3"), supported=False
    ),
    "SIMPLE_DIVISION": LensModel(12, (*_F, *_C, "k"), supported=False),
    "DIVISION": LensModel(13, (*_FF, *_C, "k"), supported=False),
    "SIMPLE_FISHEYE": LensModel(14, _F + _C, fisheye=True),
    "FISHEYE": LensModel(15, _FF + _C, fisheye=True),
    "EUCM": LensModel(16, (*_FF, *_C, "alpha", "beta"), supported=False),
    "EQUIRECTANGULAR": LensModel(17, ("w", "h"), supported=False),
}


@dataclass(frozen=True)
class Lens:
    """One camera as its file states it: COLMAP model name, parameters in COLMAP's order, image size in pixels."""

    model: str
    params: tuple[float, ...]
    width: int
    height: int

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise InputError(f"unknown camera model {self.model!r}; known: {', '.join(MODELS)}")
        wanted = len(MODELS[self.model].names)
        if len(self.params) != wanted:
            raise InputError(f"camera model {self.model} takes {wanted} parameters, got {len(self.params)}")

    def param(self, name: str) -> float:
        """A parameter by name; 0 where the model has none of that name."""
        names = MODELS[self.model].names
        return self.params[names.index(name)] if name in names else 0.0

    @property
    def focal(self) -> tuple[float, float]:
        """fx, fy in pixels."""
        shared = self.param("f")
        return (shared, shared) if "f" in MODELS[self.model].names else (self.param("fx"), self.param("fy"))

    @property
    def K(self) -> np.ndarray:
        (fx, fy), cx, cy = self.focal, self.param("cx"), self.param("cy")
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    @property
    def is_pinhole(self) -> bool:
        """True when no ray is bent: a pinhole model, or a radial one whose coefficients are all zero."""
        spec = MODELS[self.model]
        if spec.fisheye or not spec.supported:
            return False
        return not any(
            v for n, v in zip(spec.names, self.params, strict=True) if n not in ("f", "fx", "fy", "cx", "cy")
        )

    def scaled(self, width: int, height: int) -> Lens:
        """The same lens for a picture of another size (pixels need not stay square: f becomes fx, fy where it must)."""
        sx, sy = width / self.width, height / self.height
        factors = {"f": sx, "fx": sx, "cx": sx, "fy": sy, "cy": sy}
        lens = self if abs(sx - sy) < 1e-12 else self._with_two_focals()
        names = MODELS[lens.model].names
        params = tuple(v * factors.get(n, 1.0) for n, v in zip(names, lens.params, strict=True))
        return replace(lens, params=params, width=width, height=height)

    def _with_two_focals(self) -> Lens:
        wider = {
            "SIMPLE_PINHOLE": "PINHOLE",
            "SIMPLE_RADIAL": "OPENCV",
            "RADIAL": "OPENCV",
            "SIMPLE_RADIAL_FISHEYE": "OPENCV_FISHEYE",
            "RADIAL_FISHEYE": "OPENCV_FISHEYE",
            "SIMPLE_FISHEYE": "FISHEYE",
        }
        if self.model not in wider:
            return self
        model = wider[self.model]
        values = {"fx": self.param("f"), "fy": self.param("f")}
        return replace(self, model=model, params=tuple(values.get(n, self.param(n)) for n in MODELS[model].names))

    def require_supported(self) -> Lens:
        if not MODELS[self.model].supported:
            known = ", ".join(n for n, m in MODELS.items() if m.supported)
            raise InputError(
                f"camera model {self.model} cannot be undistorted here; undistort the images first ({known} are read)"
            )
        return self

    def project(self, xy: np.ndarray) -> np.ndarray:
        """Pinhole plane [..., 2] (x/z, y/z) -> pixels [..., 2]."""
        (fx, fy), cx, cy = self.focal, self.param("cx"), self.param("cy")
        return bend(self, flatten(self, xy)) * (fx, fy) + (cx, cy)

    def unproject(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels [..., 2] -> pinhole plane [..., 2]; NaN where no ray in front of the camera reaches that pixel."""
        (fx, fy), cx, cy = self.focal, self.param("cx"), self.param("cy")
        return unflatten(self, unbend(self, (np.asarray(pixels, np.float64) - (cx, cy)) / (fx, fy)))


def flatten(lens: Lens, xy: np.ndarray) -> np.ndarray:
    """Pinhole plane -> lens plane."""
    lens.require_supported()
    xy = np.asarray(xy, np.float64)
    r = np.linalg.norm(xy, axis=-1, keepdims=True)
    safe = np.where(r > 1e-12, r, 1.0)
    if MODELS[lens.model].fisheye:
        return xy * np.where(r > 1e-12, np.arctan(r) / safe, 1.0)
    if lens.model == "FOV" and abs(lens.param("omega")) > 1e-9:
        omega = lens.param("omega")
        slope = 2.0 * np.tan(omega / 2.0)
        return xy * np.where(r > 1e-12, np.arctan(r * slope) / (safe * omega), slope / omega)
    return xy


def unflatten(lens: Lens, uv: np.ndarray) -> np.ndarray:
    """Lens plane -> pinhole plane; NaN at and beyond 89.9 degrees off the axis."""
    r = np.linalg.norm(uv, axis=-1, keepdims=True)
    safe = np.where(r > 1e-12, r, 1.0)
    limit = np.deg2rad(89.9)
    if MODELS[lens.model].fisheye:
        return uv * np.where(r < limit, np.where(r > 1e-12, np.tan(np.minimum(r, limit)) / safe, 1.0), np.nan)
    if lens.model == "FOV" and abs(lens.param("omega")) > 1e-9:
        omega = lens.param("omega")
        slope = 2.0 * np.tan(omega / 2.0)
        angle = r * omega
        straight = np.tan(np.minimum(np.abs(angle), limit)) / (safe * slope)
        return uv * np.where(np.abs(angle) < limit, np.where(r > 1e-12, straight, omega / slope), np.nan)
    return uv


def _radial(lens: Lens, r2: np.ndarray) -> np.ndarray:
    k = lens.param
    if lens.model == "FULL_OPENCV":
        top = 1.0 + r2 * (k("k1") + r2 * (k("k2") + r2 * k("k3")))
        return top / (1.0 + r2 * (k("k4") + r2 * (k("k5") + r2 * k("k6"))))
    return 1.0 + r2 * (k("k1") + r2 * (k("k2") + r2 * (k("k3") + r2 * k("k4"))))


def bend(lens: Lens, uv: np.ndarray) -> np.ndarray:
    """Lens plane -> bent lens plane."""
    u, v = uv[..., 0], uv[..., 1]
    p1, p2 = lens.param("p1"), lens.param("p2")
    r2 = u * u + v * v
    scale = _radial(lens, r2)
    x = u * scale + 2.0 * p1 * u * v + p2 * (r2 + 2.0 * u * u) + lens.param("sx1") * r2
    y = v * scale + 2.0 * p2 * u * v + p1 * (r2 + 2.0 * v * v) + lens.param("sy1") * r2
    return np.stack([x, y], axis=-1)


def unbend(lens: Lens, bent: np.ndarray, steps: int = 50, tolerance: float = 1e-9) -> np.ndarray:
    """Inverse of `bend` by Newton's method from the identity; NaN where it does not arrive or folds over."""
    target = np.asarray(bent, np.float64)
    uv = target.copy()
    h = 1e-6
    along_u, along_v = np.array([h, 0.0]), np.array([0.0, h])
    with np.errstate(all="ignore"):
        for _ in range(steps):
            miss = bend(lens, uv) - target
            if np.nanmax(np.abs(miss), initial=0.0) < 0.01 * tolerance:
                break
            du = (bend(lens, uv + along_u) - bend(lens, uv - along_u)) / (2 * h)
            dv = (bend(lens, uv + along_v) - bend(lens, uv - along_v)) / (2 * h)
            det = du[..., 0] * dv[..., 1] - du[..., 1] * dv[..., 0]
            step_u = (miss[..., 0] * dv[..., 1] - miss[..., 1] * dv[..., 0]) / det
            step_v = (miss[..., 1] * du[..., 0] - miss[..., 0] * du[..., 1]) / det
            step = np.stack([step_u, step_v], axis=-1)
            length = np.linalg.norm(step, axis=-1, keepdims=True)
            uv = uv - step * np.minimum(1.0, 0.5 / np.maximum(length, 1e-30))
        arrived = np.abs(bend(lens, uv) - target).max(axis=-1) < tolerance
        unfolded = np.linalg.norm(uv, axis=-1) <= fold_radius(lens)
    return np.where((arrived & unfolded)[..., None], uv, np.nan)


def fold_radius(lens: Lens, reach: float = 8.0) -> float:
    """The lens-plane radius up to which the radial curve grows; beyond it two rays share a pixel. May be `inf`."""
    r = np.linspace(0.0, reach, 8001)
    with np.errstate(all="ignore"):
        bent = r * _radial(lens, r * r)
        falls = np.flatnonzero(~(np.diff(bent) > 0.0))
    return float(r[falls[0]]) if len(falls) else np.inf
