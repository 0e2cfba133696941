"""Four solids that a ray can meet exactly, and the chart that unrolls each onto a rectangle of texels.

Local frames are rigid (world = R @ local + t). Rays need not be normalised differently: distances are kept.

ELLIPSOID  half axes size[0:3]
BOX        half sizes size[0:3]; six charts, one per face (2 * axis + (positive side))
LATHE      a polyline of radius and height turned around local z; walked so that the outside lies to the right
           (bottom first, then up the outer wall), so hollow things are one closed profile
HANDLE     a ring of radius size[0] and thickness size[1] in the local xz plane, cut where it would enter the
           upright cylinder of radius size[3] around x = -size[2]
"""

from __future__ import annotations

import math

from .kinds import BOX, ELLIPSOID, LATHE
from .noise import kernel

_FAR = 1e30
_TAU = 2.0 * math.pi
# columns of a lathe segment: r0 z0 r1 z1, normals (r, z) at both ends, arc length 0..1 at both ends
R0, Z0, R1, Z1, N0R, N0Z, N1R, N1Z, S0, S1 = range(10)


@kernel
def hit_ellipsoid(solid, o, d, tmin, tmax):
    """The nearest distance in (tmin, tmax), or a huge number."""
    ox, oy, oz = o[0] / solid.size[0], o[1] / solid.size[1], o[2] / solid.size[2]
    dx, dy, dz = d[0] / solid.size[0], d[1] / solid.size[1], d[2] / solid.size[2]
    a = dx * dx + dy * dy + dz * dz
    b = ox * dx + oy * dy + oz * dz
    disc = b * b - a * (ox * ox + oy * oy + oz * oz - 1.0)
    if disc < 0.0:
        return _FAR
    root = math.sqrt(disc)
    t = (-b - root) / a
    if t <= tmin:
        t = (-b + root) / a
    return t if tmin < t < tmax else _FAR


@kernel
def hit_box(solid, o, d, tmin, tmax):
    """(distance, face)."""
    near, far, near_face, far_face = -_FAR, _FAR, 0, 0
    for axis in range(3):
        if abs(d[axis]) < 1e-12:
            if abs(o[axis]) > solid.size[axis]:
                return _FAR, 0
            continue
        inv = 1.0 / d[axis]
        t0, t1 = (-solid.size[axis] - o[axis]) * inv, (solid.size[axis] - o[axis]) * inv
        f0, f1 = 2 * axis, 2 * axis + 1
        if t0 > t1:
            t0, t1, f0, f1 = t1, t0, f1, f0
        if t0 > near:
            near, near_face = t0, f0
        if t1 < far:
            far, far_face = t1, f1
    if near > far:
        return _FAR, 0
    if tmin < near < tmax:
        return near, near_face
    if tmin < far < tmax:
        return far, far_face
    return _FAR, 0


@kernel
def hit_lathe(solid, segments, o, d, tmin, tmax):
    """(distance, segment index within the object)."""
    best, part = tmax, -1
    bottom, top = min(o[2], o[2] + tmax * d[2]), max(o[2], o[2] + tmax * d[2])
    dd = d[0] * d[0] + d[1] * d[1]
    od = o[0] * d[0] + o[1] * d[1]
    oo = o[0] * o[0] + o[1] * o[1]
    for i in range(solid.count):
        seg = segments[solid.first + i]
        r0, z0, r1, z1 = seg[R0], seg[Z0], seg[R1], seg[Z1]
        low, high = min(z0, z1), max(z0, z1)
        if low > top or high < bottom:  # the ray ends before it comes to this height
            continue
        if high - low < 1e-7:  # a flat ring
            if abs(d[2]) > 1e-12:
                t = (z0 - o[2]) / d[2]
                if tmin < t < best:
                    rr = oo + t * (2.0 * od + t * dd)
                    a, b = min(r0, r1), max(r0, r1)
                    if a * a <= rr <= b * b:
                        best, part = t, i
            continue
        k = (r1 - r0) / (z1 - z0)
        e = r0 - k * z0 + k * o[2]  # the cone's radius at the height of the ray's origin
        a = dd - k * k * d[2] * d[2]
        b = od - k * d[2] * e
        c = oo - e * e
        if abs(a) < 1e-14:
            continue
        disc = b * b - a * c
        if disc < 0.0:
            continue
        root = math.sqrt(disc)
        for sign in (-1.0, 1.0):
            t = (-b + sign * root) / a
            if tmin < t < best:
                z = o[2] + t * d[2]
                if low <= z <= high and e + k * t * d[2] >= 0.0:
                    best, part = t, i
    return (best, part) if part >= 0 else (_FAR, 0)


@kernel
def _handle_distance(solid, x, y, z):
    q = math.sqrt(x * x + z * z) - solid.size[0]
    ring = math.sqrt(q * q + y * y) - solid.size[1]
    wall = solid.size[3] - math.sqrt((x + solid.size[2]) * (x + solid.size[2]) + y * y)
    return max(ring, wall)


@kernel
def hit_handle(solid, o, d, tmin, tmax):
    """Sphere tracing (Hart 1996) inside the ring's bounding sphere; meets the outside only."""
    radius = solid.size[0] + solid.size[1] + 1e-3
    b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2]
    disc = b * b - (o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - radius * radius)
    if disc <= 0.0:
        return _FAR
    root = math.sqrt(disc)
    t, stop = max(tmin, -b - root), min(tmax, -b + root)
    for _ in range(96):
        if t >= stop:
            return _FAR
        gap = _handle_distance(solid, o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2])
        if gap < 1e-6:
            return t if t > tmin else _FAR
        t += gap
    return _FAR


@kernel
def chart(solid, segments, p, part):
    """Where a local surface point lies on its chart: (u, v) in [0, 1]; for boxes on the chart of face `part`."""
    if solid.kind == ELLIPSOID:
        x, y, z = p[0] / solid.size[0], p[1] / solid.size[1], p[2] / solid.size[2]
        return math.atan2(y, x) / _TAU + 0.5, math.acos(min(max(z, -1.0), 1.0)) / math.pi
    if solid.kind == BOX:
        a, b = (part // 2 + 1) % 3, (part // 2 + 2) % 3
        return 0.5 + 0.5 * p[a] / solid.size[a], 0.5 + 0.5 * p[b] / solid.size[b]
    if solid.kind == LATHE:
        seg = segments[solid.first + part]
        r = math.sqrt(p[0] * p[0] + p[1] * p[1])
        dr, dz = seg[R1] - seg[R0], seg[Z1] - seg[Z0]
        f = ((r - seg[R0]) * dr + (p[2] - seg[Z0]) * dz) / (dr * dr + dz * dz)
        f = min(max(f, 0.0), 1.0)
        return math.atan2(p[1], p[0]) / _TAU + 0.5, seg[S0] + f * (seg[S1] - seg[S0])
    q = math.sqrt(p[0] * p[0] + p[2] * p[2]) - solid.size[0]
    return math.atan2(p[2], p[0]) / _TAU + 0.5, math.atan2(p[1], q) / _TAU + 0.5


@kernel
def unchart(solid, segments, u, v, part):
    """The inverse of `chart`: (local point, segment or face)."""
    angle = (u - 0.5) * _TAU
    if solid.kind == ELLIPSOID:
        s = math.sin(v * math.pi)
        x, y, z = s * math.cos(angle), s * math.sin(angle), math.cos(v * math.pi)
        return (x * solid.size[0], y * solid.size[1], z * solid.size[2]), 0
    if solid.kind == BOX:
        axis = part // 2
        s, a, b = solid.size[axis] * (2 * (part % 2) - 1), (2 * u - 1), (2 * v - 1)
        if axis == 0:
            return (s, a * solid.size[1], b * solid.size[2]), part
        if axis == 1:
            return (b * solid.size[0], s, a * solid.size[2]), part
        return (a * solid.size[0], b * solid.size[1], s), part
    if solid.kind == LATHE:
        i = 0
        while i < solid.count - 1 and segments[solid.first + i, S1] < v:
            i += 1
        seg = segments[solid.first + i]
        f = (v - seg[S0]) / (seg[S1] - seg[S0])
        r, z = seg[R0] + f * (seg[R1] - seg[R0]), seg[Z0] + f * (seg[Z1] - seg[Z0])
        return (r * math.cos(angle), r * math.sin(angle), z), i
    around = (v - 0.5) * _TAU
    r = solid.size[0] + solid.size[1] * math.cos(around)
    return (r * math.cos(angle), solid.size[1] * math.sin(around), r * math.sin(angle)), 0


@kernel
def normal_at(solid, segments, p, part):
    """The outward unit normal at a local surface point. Boxes bend theirs within a narrow bevel of their edges."""
    x, y, z = p
    if solid.kind == ELLIPSOID:
        x, y, z = (
            x / (solid.size[0] * solid.size[0]),
            y / (solid.size[1] * solid.size[1]),
            z / (solid.size[2] * solid.size[2]),
        )
    elif solid.kind == BOX:
        bevel = 0.012
        sides = (_bend(x, solid.size[0], bevel), _bend(y, solid.size[1], bevel), _bend(z, solid.size[2], bevel))
        axis, sign = part // 2, 2.0 * (part % 2) - 1.0
        x = sign if axis == 0 else sides[0]
        y = sign if axis == 1 else sides[1]
        z = sign if axis == 2 else sides[2]
    elif solid.kind == LATHE:
        seg = segments[solid.first + part]
        r = math.sqrt(x * x + y * y)
        dr, dz = seg[R1] - seg[R0], seg[Z1] - seg[Z0]
        f = min(max(((r - seg[R0]) * dr + (z - seg[Z0]) * dz) / (dr * dr + dz * dz), 0.0), 1.0)
        nr, nz = seg[N0R] + f * (seg[N1R] - seg[N0R]), seg[N0Z] + f * (seg[N1Z] - seg[N0Z])
        if r > 1e-9:
            x, y, z = nr * x / r, nr * y / r, nz
        else:
            x, y, z = 0.0, 0.0, nz
    else:
        r = math.sqrt(x * x + z * z)
        q = r - solid.size[0]
        x, z = q * x / r, q * z / r
    n = math.sqrt(x * x + y * y + z * z)
    return x / n, y / n, z / n


@kernel
def _bend(p, half, bevel):
    d = (half - abs(p)) / bevel
    if d >= 1.0:
        return 0.0
    bend = 0.8 * (1.0 - d) * (1.0 - d)
    return bend if p > 0 else -bend
