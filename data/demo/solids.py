"""The description of a scene: solids are placed one by one, then packed into flat arrays for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .kinds import BOX, ELLIPSOID, HANDLE

Colour = tuple[float, float, float]


# One solid: its frame (`turn` takes local to world), a sphere around it, its `segments`, its charts in the light map.
SOLID = np.dtype(
    [
        ("kind", "i8"),
        ("material", "i8"),
        ("first", "i8"),
        ("count", "i8"),
        ("texel", "i8"),
        ("wide", "i8"),
        ("high", "i8"),
        ("turn", "f8", (3, 3)),
        ("place", "f8", (3,)),
        ("size", "f8", (4,)),
        ("centre", "f8", (3,)),
        ("radius", "f8"),
        ("base", "f8", (3,)),
        ("accent", "f8", (3,)),
    ]
)
# Neighbours in `solids`, from start to before stop, within one sphere.
GROUP = np.dtype([("centre", "f8", (3,)), ("radius", "f8"), ("start", "i8"), ("stop", "i8")])


class Packed(NamedTuple):
    """What the kernels read: solids [n] SOLID, groups [g] GROUP, lathe segments [m, 10]."""

    solids: np.ndarray
    groups: np.ndarray
    segments: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """How many rows of texels each solid has, over all its charts, [n]."""
        return self.solids["high"] * np.where(self.solids["kind"] == BOX, 6, 1)

    @property
    def texels(self) -> int:
        return int((self.rows * self.solids["wide"]).sum())


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
        solids = np.zeros(len(self.solids), SOLID)
        segments: list[np.ndarray] = []
        texel = 0
        for row, solid in zip(solids, self.solids, strict=True):
            for name in ("kind", "material", "turn", "place", "base", "accent"):
                row[name] = getattr(solid, name)
            row["size"][: len(solid.size)] = solid.size
            row["centre"], radius = solid.bounds()
            row["radius"] = 1.0001 * radius
            row["wide"], row["high"] = (max(4, round(side * texel_scale)) for side in solid.texels)
            row["texel"] = texel
            texel += row["wide"] * row["high"] * (6 if solid.kind == BOX else 1)
            if solid.profile is not None:
                row["first"] = sum(map(len, segments))
                segments.append(lathe_segments(solid.profile))
                row["count"] = len(segments[-1])
        groups = np.zeros(len(self.starts), GROUP)
        stops = [*self.starts[1:], len(solids)]
        for group, start, stop in zip(groups, self.starts, stops, strict=True):
            centre, radius = solids["centre"][start:stop], solids["radius"][start:stop, None]
            middle = ((centre - radius).min(0) + (centre + radius).max(0)) / 2
            group["centre"], group["start"], group["stop"] = middle, start, stop
            group["radius"] = (np.linalg.norm(centre - middle, axis=1) + radius[:, 0]).max()
        return Packed(solids, groups, np.concatenate(segments))


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
