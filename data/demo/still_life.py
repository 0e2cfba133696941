"""The still life: what lies where, and in which colour. Units are about 30 cm; z is up; the table top is z = 0."""

from __future__ import annotations

import math

import numpy as np

from .kinds import (
    BALL,
    BLOCK,
    BOOK,
    BOX,
    CITRUS,
    CLOTH,
    ELLIPSOID,
    HANDLE,
    LATHE,
    LEAF,
    MARBLE,
    MUG,
    PENCIL,
    POT,
    STUDIO,
    TOY,
    WOOD,
)
from .solids import Builder, Colour, Packed, Solid, arc, turned


def still_life(texel_scale: float = 1.0) -> Packed:
    """The packed scene. `texel_scale` sets how fine the light map is (1 for pictures 400 pixels wide)."""
    b = Builder()
    _books(b)
    _mug(b, 0.42, -0.36)
    _plant(b, 0.40, 0.42)
    _toy_tower(b, -0.02, 0.12)
    _blocks(b)
    _small_things(b)
    _table(b)
    _studio(b)  # last: rays that ended before never come to the wall
    return b.pack(texel_scale)


def srgb(code: str) -> Colour:
    """'#rrggbb' as linear light."""
    r, g, b = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b))  # type: ignore[return-value]


def _lathe(b, material, x, y, z, profile, base, accent, texels, turn=None) -> None:
    b.add(
        Solid(
            LATHE,
            material,
            (x, y, z),
            turned() if turn is None else turn,
            (0, 0, 0),
            srgb(base),
            srgb(accent),
            texels,
            np.array(profile, float),
        )
    )


def _box(b, material, x, y, z, half, yaw, base, accent, texels) -> None:
    b.add(Solid(BOX, material, (x, y, z), turned(yaw), half, srgb(base), srgb(accent), texels))


def _ellipsoid(b, material, place, half, base, accent, texels, turn=None) -> None:
    b.add(Solid(ELLIPSOID, material, place, turned() if turn is None else turn, half, srgb(base), srgb(accent), texels))


def _studio(b: Builder) -> None:
    """A seamless photographer's backdrop, closed all around: floor, sweep and wall, seen from inside."""
    b.group()
    profile = [
        (3.6, 3.2),
        (3.6, 1.6),
        (3.6, 0.75),
        *arc(2.75, 0.75, 0.85, -12, -78, 5),
        (2.75, -0.1),
        (1.6, -0.1),
        (0, -0.1),
    ]
    _lathe(b, STUDIO, 0, 0, 0, profile, "#8fa39b", "#c3bba6", (256, 96))


def _table(b: Builder) -> None:
    b.group()
    rim = arc(1.07, -0.045, 0.045, -80, 90, 7)
    _lathe(b, WOOD, 0, 0, 0, [(0, -0.09), (1.06, -0.09), *rim, (0.5, 0), (0, 0)], "#b98352", "#5d351c", (512, 200))


def _books(b: Builder) -> None:
    b.group()
    stack = [
        ((0.34, 0.25, 0.055), 24, "#22405c", "#d8b56a"),
        ((0.30, 0.225, 0.045), 17, "#a63d2f", "#ecd9b0"),
        ((0.265, 0.20, 0.04), 33, "#d9a441", "#3b2b20"),
    ]
    z = 0.0
    for half, yaw, base, accent in stack:
        _box(b, BOOK, -0.47, 0.30, z + half[2], half, yaw, base, accent, (52, 52))
        z += 2 * half[2]
    _ellipsoid(
        b, CITRUS, (-0.54, 0.36, z + 0.098), (0.104, 0.104, 0.098), "#f08a1c", "#c95a0c", (48, 28), turned(0, 8, 14)
    )
    _ellipsoid(
        b, MARBLE, (-0.36, 0.27, z + 0.045), (0.045, 0.045, 0.045), "#2f7f86", "#f3efe2", (24, 14), turned(0, 40, 0)
    )


def _mug(b: Builder, x: float, y: float) -> None:
    b.group()
    z = 0.012
    outer = [(0, 0), (0.135, 0), *arc(0.14, 0.02, 0.02, -80, -10, 3), (0.168, 0.12), (0.172, 0.33)]
    rim = arc(0.162, 0.335, 0.010, 0, 180, 5)
    inner = [(0.150, 0.26), (0.148, 0.245), (0.08, 0.244), (0, 0.244)]
    _lathe(b, MUG, x, y, z, outer + rim + inner, "#1f6f78", "#f1e7d3", (128, 72))
    yaw = -38
    c, s = math.cos(math.radians(yaw)), math.sin(math.radians(yaw))
    reach = 0.168
    b.add(
        Solid(
            HANDLE,
            MUG,
            (x + reach * c, y + reach * s, z + 0.19),
            turned(yaw),
            (0.092, 0.021, reach, 0.163),
            srgb("#1f6f78"),
            srgb("#f1e7d3"),
            (40, 14),
        )
    )


def _plant(b: Builder, x: float, y: float) -> None:
    b.group()
    wall = [(0, 0), (0.125, 0), (0.16, 0.19), (0.185, 0.195), (0.192, 0.265)]
    lip = [*arc(0.184, 0.268, 0.008, 0, 180, 4), (0.168, 0.235), (0.08, 0.245), (0, 0.25)]
    _lathe(b, POT, x, y, 0, wall + lip, "#b8623c", "#3a281d", (96, 56))
    b.group()
    golden = math.pi * (3 - math.sqrt(5))
    for i in range(34):
        f = i / 33  # 0 = innermost leaf
        lift = math.radians(78 - 66 * f**0.8)
        length = 0.05 + 0.085 * f**0.7
        angle = i * golden
        out = np.array([math.cos(angle) * math.cos(lift), math.sin(angle) * math.cos(lift), math.sin(lift)])
        place = np.array([x, y, 0.27 + 0.05 * (1 - f)]) + out * (length * 0.95)
        turn = turned(math.degrees(angle), -math.degrees(lift))
        _ellipsoid(b, LEAF, tuple(place), (length, 0.034 + 0.022 * f, 0.014), "#7fae7a", "#c9607a", (20, 12), turn)


def _toy_tower(b: Builder, x: float, y: float) -> None:
    b.group()
    base = [(0, 0), (0.185, 0), *arc(0.185, 0.02, 0.02, -80, 80, 5), (0.17, 0.042), (0, 0.042)]
    _lathe(b, TOY, x, y, 0, base, "#d9b98a", "#b88a55", (64, 20))
    colours = ["#c8402f", "#e58b2a", "#f0c63c", "#5a9e58", "#2f7fa6", "#6b4f93"]
    z = 0.042
    for i, colour in enumerate(colours):
        thick = 0.046 - 0.002 * i
        radius = 0.165 - 0.016 * i
        profile = arc(radius - thick, thick, thick, -90, 270, 15)
        _lathe(b, TOY, x, y, z, profile, colour, "#f7ecd6", (64, 24))
        z += 2 * thick * 0.985
    _ellipsoid(b, TOY, (x, y, z + 0.052), (0.06, 0.06, 0.06), "#d9b98a", "#b88a55", (32, 18))


def _blocks(b: Builder) -> None:
    b.group()
    h = 0.085
    _box(b, BLOCK, -0.10, -0.62, h, (h, h, h), 18, "#d8452f", "#f4e3c1", (26, 26))
    _box(b, BLOCK, 0.09, -0.70, h, (h, h, h), -24, "#2c6e9b", "#f4e3c1", (26, 26))
    _box(b, BLOCK, -0.005, -0.655, 3 * h, (h, h, h), 41, "#e2a52d", "#f7ead0", (26, 26))


def _small_things(b: Builder) -> None:
    b.group()
    _box(b, CLOTH, 0.44, -0.34, 0.006, (0.36, 0.27, 0.006), -20, "#c4483f", "#f5ecdc", (120, 120))
    b.group()
    _ellipsoid(
        b, BALL, (-0.50, -0.33, 0.185), (0.185, 0.185, 0.185), "#d94f3a", "#f6ead2", (72, 40), turned(20, 35, 15)
    )
    b.group()
    _ellipsoid(b, MARBLE, (-0.20, -0.30, 0.05), (0.05, 0.05, 0.05), "#7a3f8f", "#f2e6d8", (24, 14), turned(10, 60, 0))
    _ellipsoid(b, MARBLE, (-0.09, -0.37, 0.04), (0.04, 0.04, 0.04), "#2f8f5b", "#f7f0dc", (24, 14), turned(80, 20, 0))
    _ellipsoid(
        b, MARBLE, (0.05, -0.26, 0.045), (0.045, 0.045, 0.045), "#c7752b", "#2b4c7a", (24, 14), turned(40, 70, 0)
    )
    b.group()
    pencil = [(0, 0), (0.02, 0), (0.02, 0.05), (0.02, 0.52), (0.006, 0.60), (0, 0.615)]
    _lathe(b, PENCIL, 0.80, -0.16, 0.021, pencil, "#e3b02f", "#2d2a28", (16, 48), turned(75, 90, 0))
    _lathe(b, PENCIL, -0.86, -0.25, 0.021, pencil, "#3d7f66", "#2d2a28", (16, 48), turned(118, 90, 0))
    _ellipsoid(b, CITRUS, (0.06, 0.72, 0.085), (0.115, 0.085, 0.085), "#f2cf3a", "#d9a520", (40, 24), turned(25, 0, 20))
    _ellipsoid(
        b, CITRUS, (-0.13, 0.66, 0.098), (0.102, 0.102, 0.098), "#f08a1c", "#c95a0c", (40, 24), turned(70, 20, 0)
    )
