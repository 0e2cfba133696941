"""A capture: cameras, views, points and the frame they live in. Axes and units are written here, once.

Axes    OpenCV: x right, y down, z forward, for every camera. Pixel centres lie at +0.5.
K       [3, 3] pixels, of the undistorted pinhole image of size (width, height).
World   right-handed. It is the frame of the INPUT moved and uniformly scaled so that float32 is enough:
        x_input = Frame.scale * x_world + Frame.origin   (never rotated, so spherical harmonics need no turn).
Nothing here holds pixels: an `ImageSource` knows how to fetch them when asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Camera:
    """A pinhole camera. K [3, 3] float64 in pixels, world_to_camera [4, 4] float64, sizes in pixels."""

    K: np.ndarray
    width: int
    height: int
    world_to_camera: np.ndarray

    @property
    def center(self) -> np.ndarray:
        """The optical centre in world coordinates, [3]."""
        R, t = self.world_to_camera[:3, :3], self.world_to_camera[:3, 3]
        return -R.T @ t

    def resized(self, width: int, height: int) -> Camera:
        """The same camera whose picture is `width` x `height` pixels (the field of view is kept)."""
        sx, sy = width / self.width, height / self.height
        return replace(self, K=np.diag([sx, sy, 1.0]) @ self.K, width=width, height=height)


@dataclass(frozen=True)
class Pixels:
    """Decoded pixels of one view at its camera's size.

    rgb    [H, W, 3] uint8; where alpha is given, colour premultiplied by alpha (composite: rgb + (255 - alpha) * background)
    alpha  [H, W] uint8 or None (opaque)
    mask   [H, W] bool or None; True = counts in loss and metrics
    """

    rgb: np.ndarray
    alpha: np.ndarray | None = None
    mask: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.rgb, self.alpha, self.mask) if a is not None)


class ImageSource(Protocol):
    """Fetches the pixels of one view: decoded, turned, undistorted, resized to exactly `camera` size. Must be thread-safe."""

    def load(self) -> Pixels: ...


@dataclass(frozen=True)
class Query:
    """What to draw: a camera and, for dynamic or relightable models, when [s] and under which light."""

    camera: Camera
    time: float | None = None
    light: object | None = None


@dataclass(frozen=True)
class View:
    """One photo. `name` is its path relative to the capture, unique, with '/' separators."""

    name: str
    camera: Camera
    image: ImageSource
    time: float | None = None
    light: object | None = None

    @property
    def query(self) -> Query:
        return Query(self.camera, self.time, self.light)


@dataclass(frozen=True)
class Points:
    """Sparse points in world coordinates: xyz [P, 3] float64, rgb [P, 3] uint8, mean reprojection error [P] px or None."""

    xyz: np.ndarray
    rgb: np.ndarray
    error: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.xyz)


@dataclass(frozen=True)
class Frame:
    """Where the world lies in the input: x_input = scale * x_world + origin. origin [3] float64."""

    scale: float = 1.0
    origin: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def to_input(self, xyz: np.ndarray) -> np.ndarray:
        return xyz * self.scale + self.origin

    def to_world(self, xyz: np.ndarray) -> np.ndarray:
        return (xyz - self.origin) / self.scale

    @property
    def matrix(self) -> np.ndarray:
        """[4, 4] world -> input."""
        m = np.eye(4)
        m[:3, :3] *= self.scale
        m[:3, 3] = self.origin
        return m


@dataclass(frozen=True)
class Fact:
    """One line of the data report: `level` is 'info' or 'warning', `key` a short label, `text` what is so."""

    key: str
    text: str
    level: str = "info"


@dataclass(frozen=True)
class Scene:
    """A capture (never the trained result). Filters return a new Scene.

    views   every usable view, in name order
    test    indices into `views` that are held out; the rest trains
    points  sparse points in world coordinates; may be empty
    frame   world -> input
    facts   what the reader found, in report order
    has_alpha  some photo is see-through somewhere
    """

    views: tuple[View, ...]
    points: Points
    frame: Frame = field(default_factory=Frame)
    test: tuple[int, ...] = ()
    name: str = "scene"
    kind: str = ""
    has_alpha: bool = False
    facts: tuple[Fact, ...] = ()

    @property
    def train_views(self) -> tuple[View, ...]:
        held = set(self.test)
        return tuple(v for i, v in enumerate(self.views) if i not in held)

    @property
    def test_views(self) -> tuple[View, ...]:
        return tuple(self.views[i] for i in self.test)

    @property
    def extent(self) -> float:
        """Radius of the cameras around their mean centre, times 1.1 (the 3DGS rule); 1.0 for a single camera."""
        c = np.stack([v.camera.center for v in self.views])
        radius = float(np.linalg.norm(c - c.mean(0), axis=1).max())
        return 1.1 * radius if radius > 0 else 1.0

    def map_views(self, fn: Callable[[View], View]) -> Scene:
        return replace(self, views=tuple(fn(v) for v in self.views))


def every_nth(count: int, n: int) -> tuple[int, ...]:
    """Held-out indices: every n-th, the first included (n = 0 holds out nothing)."""
    return tuple(range(0, count, n)) if n > 0 else ()
