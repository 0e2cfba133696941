"""Solid textures: the colour of every material as a function of the local point, and how each one shines.

Everything is a function of the surface point alone, so all views agree on it exactly.
"""

from __future__ import annotations

import math

from .kinds import BALL, BLOCK, BOOK, CITRUS, CLOTH, LEAF, MARBLE, MUG, PENCIL, POT, STUDIO, TOY, WOOD
from .noise import fbm, hash01, kernel, noise, smoothstep


@kernel
def _mix(a, b, f):
    return a[0] + (b[0] - a[0]) * f, a[1] + (b[1] - a[1]) * f, a[2] + (b[2] - a[2]) * f


@kernel
def _scale(a, f):
    return a[0] * f, a[1] * f, a[2] * f


@kernel
def shine(material):
    """(strength of the clear coat 0..1, sharpness of the lamp's highlight, whether neighbours are mirrored)."""
    if material in (MUG, BALL, MARBLE):
        return 1.0, 90.0, True
    if material in (TOY, BLOCK, PENCIL):
        return 0.7, 40.0, False
    if material in (CITRUS, LEAF):
        return 0.6, 24.0, False
    if material in (WOOD, BOOK):
        return 0.45, 18.0, False
    return 0.12, 8.0, False


@kernel
def albedo(solid, p, part):
    """Linear colour at a local point. `part` is the face of a box or the segment of a lathe."""
    x, y, z = p
    material, size = solid.material, solid.size
    base = (solid.base[0], solid.base[1], solid.base[2])
    accent = (solid.accent[0], solid.accent[1], solid.accent[2])
    if material == STUDIO:
        return _studio(x, y, z, base, accent)
    if material == WOOD:
        return _wood(x, y, z, base, accent)
    if material == BOOK:
        return _book(x, y, z, part, size, base, accent)
    if material == MUG:
        return _mug(x, y, z, size, base, accent)
    if material == LEAF:
        tip = smoothstep(0.45, 1.0, x / size[0])
        vein = 0.84 + 0.3 * fbm(40 * x, 90 * y, 40 * z, 3)
        rim = smoothstep(0.7, 1.0, abs(y) / size[1])
        return _scale(_mix(base, accent, min(1.0, 0.85 * tip + 0.35 * rim)), vein)
    if material == POT:
        return _pot(x, y, z, base, accent)
    if material == BALL:
        return _ball(x, y, z, size, base, accent)
    if material == TOY:
        grain = fbm(9 * x + 3.0, 9 * y, 60 * z, 4)
        worn = smoothstep(0.66, 0.8, fbm(22 * x, 22 * y, 22 * z, 3))
        return _scale(_mix(base, accent, 0.55 * worn), 0.72 + 0.5 * grain)
    if material == BLOCK:
        return _block(x, y, z, part, size, base, accent)
    if material == CITRUS:
        pores = smoothstep(0.35, 0.75, noise(75 * x, 75 * y, 75 * z))
        patch = fbm(8 * x, 8 * y, 8 * z, 4)
        c = _scale(_mix(base, accent, 0.25 + 0.5 * patch), 0.80 + 0.30 * pores)
        stem = smoothstep(0.93, 0.97, z / size[2])
        return _mix(c, (0.10, 0.13, 0.04), stem)
    if material == CLOTH:
        return _gingham(x, y, base, accent)
    if material == PENCIL:
        return _pencil(x, y, z, base, accent)
    swirl = math.sin(9 * math.atan2(y, x) + 95 * z + 9 * fbm(30 * x, 30 * y, 30 * z, 3))
    return _mix(base, accent, smoothstep(-0.2, 0.25, swirl))


@kernel
def _studio(x, y, z, base, accent):
    """Lime-washed plaster: soft clouds, brush strokes that follow them, fine speckles."""
    cloud = fbm(0.9 * x + 0.5 * z, 0.9 * y - 0.4 * z, 0.9 * z + 0.3 * x, 3)
    stroke = fbm(3.1 * x + 2.3 * y + 5.0 * cloud, 3.0 * y - 2.2 * x, 5.0 * z + 4.0 * cloud, 4)
    speck = smoothstep(0.72, 0.80, noise(17 * x + 9 * y, 17 * y - 9 * x, 19 * z))
    c = _mix(base, accent, smoothstep(0.30, 0.75, 0.75 * cloud + 0.25 * stroke))
    return _scale(c, (0.86 + 0.26 * stroke) * (1.0 - 0.10 * speck))


@kernel
def _wood(x, y, z, base, accent):
    """Planks side by side, each cut from another tree: long grain, rings, a few knots, dark joints."""
    width = 0.214
    plank = math.floor(x / width + 0.5)
    k = int(plank)
    across = x - plank * width
    shift = 9.0 * hash01(k, 3, 1)
    bend = fbm(1.6 * y + shift, 5.0 * across, 0.7 * k, 3)
    rings = 0.5 + 0.5 * math.sin(46.0 * (across + 0.24 * bend) + 7.0 * shift)
    grain = fbm(3.2 * y + shift, 62.0 * x, 9.0 * z, 4)
    fleck = smoothstep(0.62, 0.72, noise(7.0 * y + shift, 150.0 * x, 3.0))
    tone = 0.30 * rings + 0.45 * grain + 0.16 * fleck
    c = _scale(_mix(base, accent, min(1.0, tone)), 0.86 + 0.36 * hash01(k, 7, 2))
    joint = smoothstep(0.0, 0.008, 0.5 * width - abs(across))
    return _scale(c, 0.35 + 0.65 * joint)


@kernel
def _book(x, y, z, part, size, base, accent):
    """Cloth covers with stamped bands; three sides show paper; the spine is the side at -y."""
    thick = 0.011
    cover = size[2] - abs(z) < thick or (part == 2)
    if not cover:
        sheet = noise(3.0 * x + 3.0 * y, 5.0, 420.0 * z)
        wave = fbm(14 * x, 14 * y, 120 * z, 3)
        return _scale((0.78, 0.70, 0.56), 0.62 + 0.36 * sheet + 0.16 * wave)
    weave = 0.5 + 0.25 * math.sin(210 * x) + 0.25 * math.sin(210 * (y + z))
    c = _scale(base, 0.72 + 0.22 * weave + 0.32 * fbm(10 * x, 10 * y, 10 * z, 4))
    gold = 0.0
    if part == 2:  # spine: two bands and a title block
        u = abs(x) / size[0]
        if abs(u - 0.78) < 0.025 or abs(u - 0.70) < 0.012:
            gold = 1.0
        elif u < 0.42 and abs(z) < 0.45 * size[2]:
            gold = 1.0 if noise(70 * x, 2.0, 60 * z) > 0.5 else 0.0
    elif part >= 4:  # cover: a double frame and a diamond
        edge = min(size[0] - abs(x), size[1] - abs(y))
        diamond = abs(x) / size[0] + abs(y) / size[1]
        if abs(edge - 0.032) < 0.005 or abs(edge - 0.048) < 0.003 or abs(diamond - 0.52) < 0.035 or diamond < 0.13:
            gold = 1.0
    wear = smoothstep(0.55, 0.7, fbm(30 * x, 30 * y, 30 * z, 3))
    return _mix(c, accent, gold * (1.0 - 0.6 * wear))


@kernel
def _mug(x, y, z, size, base, accent):
    """Reactive glaze over a cream body: bare foot, a band of triangles, speckles; coffee inside."""
    r = math.sqrt(x * x + y * y)
    handle = size[0] > 0.0
    if not handle and r < 0.1515 and z > 0.2:
        if z < 0.2455:
            foam = smoothstep(0.45, 0.62, fbm(26 * x, 26 * y, 5.0, 4))
            return _mix((0.055, 0.022, 0.010), (0.42, 0.22, 0.10), 0.12 + 0.6 * foam * smoothstep(0.07, 0.145, r))
        return _scale(accent, 0.92)
    flow = fbm(16 * x, 16 * y, 7 * z, 4)
    glaze = _scale(base, 0.6 + 0.9 * flow)
    speck = smoothstep(0.78, 0.84, noise(105 * x + 60 * y, 105 * y - 60 * x, 120 * z))
    if handle:
        return _mix(glaze, accent, 0.6 * speck)
    c = _mix(glaze, accent, 0.6 * speck)
    angle = math.atan2(y, x) / (2 * math.pi) * 22
    if 0.175 < z < 0.265:
        f = angle - math.floor(angle)
        ramp = abs(2.0 * f - 1.0)
        lift = (z - 0.175) / 0.09
        c = accent if lift > ramp else _mix(base, (0.02, 0.05, 0.08), 0.45)
        c = _scale(c, 0.82 + 0.3 * flow)
    elif abs(z - 0.165) < 0.006 or abs(z - 0.275) < 0.006:
        c = _scale(accent, 0.9)
    foot = smoothstep(0.062, 0.072, z + 0.022 * fbm(14 * x, 14 * y, 1.0, 2))
    clay = _scale((0.62, 0.50, 0.37), 0.65 + 0.6 * fbm(60 * x, 60 * y, 60 * z, 3))
    return _mix(clay, c, foot)


@kernel
def _pot(x, y, z, base, accent):
    r = math.sqrt(x * x + y * y)
    if r < 0.171 and z > 0.2:
        crumbs = noise(55 * x, 55 * y, 55 * z)
        return _scale(accent, 0.4 + 1.5 * crumbs * crumbs)
    bloom = smoothstep(0.45, 0.75, fbm(7 * x, 7 * y, 5 * z, 5))
    c = _mix(base, (0.72, 0.60, 0.48), 0.65 * bloom)
    turning = 0.86 + 0.2 * noise(3.0 * x, 3.0 * y, 95 * z)
    if 0.07 < z < 0.125:
        step = math.atan2(y, x) / (2 * math.pi) * 18
        wave = 0.0975 + 0.016 * math.sin(2 * math.pi * step)
        if abs(z - wave) < 0.0065 or abs(z - 0.07) < 0.004 or abs(z - 0.125) < 0.004:
            c = (0.80, 0.74, 0.62)
    return _scale(c, turning * (0.8 + 0.4 * fbm(30 * x, 30 * y, 30 * z, 3)))


@kernel
def _ball(x, y, z, size, base, accent):
    """Twelve gores in six colours, two rings of dots, caps at the poles."""
    u = math.atan2(y, x) / (2 * math.pi) * 12
    k = math.floor(u) % 12
    v = z / size[2]
    c = accent
    if k % 2 == 0:
        s = k // 2
        if s == 0 or s == 3:
            c = base
        elif s == 1 or s == 4:
            c = (0.035, 0.20, 0.34)
        else:
            c = (0.78, 0.47, 0.06)
    elif abs(v) < 0.62:
        f = u - math.floor(u) - 0.5
        across = f * math.sqrt(max(0.0, 1.0 - v * v)) * 2 * math.pi / 12
        for row in (-0.36, 0.0, 0.36):
            if across * across + (v - row) * (v - row) < 0.0075:
                c = (0.05, 0.16, 0.17)
    if abs(v) > 0.93:
        c = (0.05, 0.16, 0.17)
    scuff = fbm(17 * x, 17 * y, 17 * z, 4)
    return _scale(c, 0.76 + 0.42 * scuff)


@kernel
def _block(x, y, z, part, size, base, accent):
    """Painted wooden cube: a coloured frame, inside it chequers, bricks or a target, by face."""
    axis = part // 2
    u, v = (y, z) if axis == 0 else ((x, z) if axis == 1 else (x, y))
    u, v = u / size[0], v / size[0]
    grain = 0.74 + 0.46 * fbm(12 * x, 12 * y + 40 * z, 50 * x + 12 * z, 4)
    edge = max(abs(u), abs(v))
    c = accent
    if edge > 0.74:
        c = base
        if edge > 0.955:
            c = _mix(base, accent, 0.5)
    elif edge < 0.68:
        if axis == 0:
            if (math.floor(3 * (u + 1.0)) + math.floor(3 * (v + 1.0))) % 2 == 0:
                c = _mix(base, (0.02, 0.02, 0.03), 0.25)
        elif axis == 1:
            row = math.floor(3.7 * (v + 1.0))
            brick = 2.1 * (u + 1.0) + 0.5 * (row % 2)
            fu, fv = brick - math.floor(brick), 3.7 * (v + 1.0) - row
            if 0.07 < fu < 0.93 and 0.12 < fv < 0.88:
                tint = 0.65 + 0.7 * hash01(int(row), math.floor(brick), 5)
                c = _scale((0.50, 0.16, 0.09), tint)
        else:
            r = math.sqrt(u * u + v * v)
            spokes = math.cos(5.0 * math.atan2(v, u))
            if r < 0.42 + 0.17 * spokes:
                c = _mix(base, (0.02, 0.02, 0.03), 0.15)
                if r < 0.14:
                    c = accent
    return _scale(c, grain)


@kernel
def _gingham(x, y, base, accent):
    """Woven checks with a plain hem: full colour where both threads are dyed, half where one is."""
    cell = 0.042
    a = 1.0 if math.floor(x / cell + 0.5) % 2 == 0 else 0.0
    b = 1.0 if math.floor(y / cell + 0.5) % 2 == 0 else 0.0
    f = 0.5 * (a + b)
    if abs(x) > 0.338 or abs(y) > 0.248:
        f = 1.0
    weave = 0.86 + 0.14 * math.sin(300 * x) * math.sin(300 * y)
    return _scale(_mix(accent, base, f), weave * (0.8 + 0.36 * fbm(18 * x, 18 * y, 1.0, 4)))


@kernel
def _pencil(x, y, z, base, accent):
    if z > 0.592:
        return accent
    if z > 0.525 + 0.006 * math.sin(6 * math.atan2(y, x)):
        return _scale((0.66, 0.45, 0.24), 0.7 + 0.5 * fbm(60 * x, 60 * y, 14 * z, 3))
    if z < 0.05:
        if z > 0.032:
            return (0.55, 0.55, 0.52)
        return (0.66, 0.24, 0.24)
    side = math.floor(math.atan2(y, x) / (math.pi / 3)) % 2
    return _scale(base, (0.8 if side == 0 else 1.0) * (0.8 + 0.35 * fbm(30 * x, 30 * y, 12 * z, 3)))
