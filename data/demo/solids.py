"""The description of a scene in plain numpy: solids are placed one by one and packed into flat arrays for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .kinds import BOX, ELLIPSOID, HANDLE

Colour = tuple[float, float, float]


class Packed(NamedTuple):
    """What the kernels read; one row per solid unless said otherwise.

    kind [n]; turn [n, 3, 3] local -> world; place [n, 3]; size [n, 4]; centre [n, 3] and radius [n] of a bounding sphere;
    material [n]; base, accent [n, 3] linear colours; first, count [n] of `segments` [m, 10];
    groups [g, 4] bounding spheres and members [g, 2] (a half-open range of solids);
    texel [n] first row in the light map, wide, high [n] size of one chart
    """

    kind: np.ndarray
    turn: np.ndarray
    place: np.ndarray
    size: np.ndarray
    centre: np.ndarray
    radius: np.ndarray
    material: np.ndarray
    base: np.ndarray
    accent: np.ndarray
    first: np.ndarray
    count: np.ndarray
    segments: np.ndarray
    groups: np.ndarray
    members: np.ndarray
    texel: np.ndarray
    wide: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Solid:
    """One solid. `profile` [k, 2] of (radius, height) is given for lathes only; `texels` (wide, high) of each chart."""

    kind: int
    material: int
    place: Sequence[float]
    turn: np.ndarray
    size: Sequence[float]
    base: Colour
    accent: Colour
    texels: tuple[int, int]
    profile: np.ndarray | None = None

    def bounds(self) -> tuple[np.ndarray, float]:
        """A sphere around it in the world: centre [3], radius."""
        place = np.asarray(self.place, float)
        if self.profile is not None:
            low, high = self.profile[:, 1].min(), self.profile[:, 1].max()
            middle = np.array([0.0, 0.0, (low + high) / 2])
            radius = np.hypot(self.profile[:, 0], self.profile[:, 1] - middle[2]).max()
            return place + self.turn @ middle, float(radius)
        if self.kind == HANDLE:
            return place, self.size[0] + self.size[1]
        half = np.asarray(self.size[:3], float)
        return place, float(half.max() if self.kind == ELLIPSOID else np.linalg.norm(half))


@dataclass
class Builder:
    """Collects solids; those added between two calls of `group` share one bounding sphere."""

    solids: list[Solid] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def group(self) -> None:
        self.starts.append(len(self.solids))

    def add(self, solid: Solid) -> None:
        self.solids.append(solid)

    def pack(self, texel_scale: float) -> Packed:
        """Flat arrays; `texel_scale` makes the light map coarser (< 1) or finer (> 1) along each side."""
        n = len(self.solids)
        rows: list[np.ndarray] = []
        first, count = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for i, solid in enumerate(self.solids):
            first[i] = sum(map(len, rows))
            if solid.profile is not None:
                rows.append(lathe_segments(solid.profile))
                count[i] = len(rows[-1])
        wide = np.array([max(4, round(s.texels[0] * texel_scale)) for s in self.solids], np.int64)
        high = np.array([max(3, round(s.texels[1] * texel_scale)) for s in self.solids], np.int64)
        charts = np.array([6 if s.kind == BOX else 1 for s in self.solids], np.int64)
        texel = np.concatenate([[0], np.cumsum(wide * high * charts)])
        bounds = [s.bounds() for s in self.solids]
        centre, radius = np.stack([b[0] for b in bounds]), np.array([b[1] for b in bounds]) * 1.0001
        edges = [*self.starts, n]
        members = np.array([(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if b > a], np.int64)
        groups = np.zeros((len(members), 4))
        for g, (a, b) in enumerate(members):
            middle = (centre[a:b] - radius[a:b, None]).min(0) / 2 + (centre[a:b] + radius[a:b, None]).max(0) / 2
            groups[g, :3] = middle
            groups[g, 3] = (np.linalg.norm(centre[a:b] - middle, axis=1) + radius[a:b]).max()
        return Packed(
            kind=np.array([s.kind for s in self.solids], np.int64),
            turn=np.ascontiguousarray(np.stack([s.turn for s in self.solids]), float),
            place=np.array([list(s.place) for s in self.solids], float),
            size=np.array([[*s.size, 0.0, 0.0, 0.0, 0.0][:4] for s in self.solids], float),
            centre=centre,
            radius=radius,
            material=np.array([s.material for s in self.solids], np.int64),
            base=np.array([s.base for s in self.solids], float),
            accent=np.array([s.accent for s in self.solids], float),
            first=first,
            count=count,
            segments=np.concatenate(rows) if rows else np.zeros((0, 10)),
            groups=groups,
            members=members,
            texel=texel,
            wide=wide,
            high=high,
        )


def lathe_segments(profile: np.ndarray, crease: float = 50.0) -> np.ndarray:
    """A polyline [k, 2] of (radius, height) as segments [k - 1, 10] (columns as in `shapes`).

    Neighbours that meet at less than `crease` degrees share their normal, so a coarse polyline shades like a curve.
    """
    step = np.diff(profile, axis=0)
    length = np.linalg.norm(step, axis=1)
    normal = np.stack([step[:, 1], -step[:, 0]], 1) / length[:, None]
    start, end = normal.copy(), normal.copy()
    closed = bool(np.allclose(profile[0], profile[-1]))
    for i in range(len(step)):
        j = i + 1 if i + 1 < len(step) else (0 if closed else -1)
        if j >= 0 and normal[i] @ normal[j] > math.cos(math.radians(crease)):
            mean = normal[i] + normal[j]
            end[i] = start[j] = mean / np.linalg.norm(mean)
    s = np.concatenate([[0.0], np.cumsum(length)]) / length.sum()
    return np.concatenate([profile[:-1], profile[1:], start, end, s[:-1, None], s[1:, None]], axis=1)


def turned(yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0) -> np.ndarray:
    """The rotation Rz(yaw) @ Ry(pitch) @ Rx(roll), angles in degrees."""
    a, b, c = (math.radians(x) for x in (yaw, pitch, roll))
    rz = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
    ry = np.array([[math.cos(b), 0, math.sin(b)], [0, 1, 0], [-math.sin(b), 0, math.cos(b)]])
    rx = np.array([[1, 0, 0], [0, math.cos(c), -math.sin(c)], [0, math.sin(c), math.cos(c)]])
    return rz @ ry @ rx


def arc(r: float, z: float, radius: float, start: float, stop: float, steps: int) -> list[tuple[float, float]]:
    """Points of a circle around (r, z) from angle `start` to `stop` in degrees (0 = outwards, 90 = up)."""
    angles = np.radians(np.linspace(start, stop, steps))
    return [(r + radius * math.cos(a), z + radius * math.sin(a)) for a in angles]
