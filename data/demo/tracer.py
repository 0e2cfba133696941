"""A small ray tracer: nearest hit over two levels of bounding spheres, a baked light map, 2x2 samples a pixel.

Light comes in two steps. `bake` stores for every texel of every surface the diffuse light that arrives there, by
cosine-weighted gathering over the hemisphere (Kajiya 1986, two bounces), plus how much of the lamp it sees. `render`
then needs one ray a sample and one more where a glaze mirrors its surroundings. All light but the thin specular coat is
thus a function of the surface point alone, and every view of it agrees.
"""

from __future__ import annotations

import math

import numpy as np

from .kinds import BOX, ELLIPSOID, HANDLE
from .noise import hash01, kernel
from .shapes import chart, hit_box, hit_ellipsoid, hit_handle, hit_lathe, normal_at, unchart
from .textures import albedo, shine

_FAR = 1e20
_LAMP = (-0.46, -0.55, 0.70)  # towards the lamp (normalised below)
_LAMP_RADIUS = 0.14  # tangent of its half angle: eight degrees, so shadows are soft
_LAMP_LIGHT = (1.95, 1.66, 1.28)  # irradiance / pi on a surface that faces it


@kernel
def _local(turn, v):
    return (
        turn[0, 0] * v[0] + turn[1, 0] * v[1] + turn[2, 0] * v[2],
        turn[0, 1] * v[0] + turn[1, 1] * v[1] + turn[2, 1] * v[2],
        turn[0, 2] * v[0] + turn[1, 2] * v[1] + turn[2, 2] * v[2],
    )


@kernel
def _world(turn, v):
    return (
        turn[0, 0] * v[0] + turn[0, 1] * v[1] + turn[0, 2] * v[2],
        turn[1, 0] * v[0] + turn[1, 1] * v[1] + turn[1, 2] * v[2],
        turn[2, 0] * v[0] + turn[2, 1] * v[1] + turn[2, 2] * v[2],
    )


@kernel
def _unit(v):
    n = 1.0 / math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return v[0] * n, v[1] * n, v[2] * n


@kernel
def _misses(bounds, o, d, tmax):
    """True where the sphere (a record with centre and radius) does not meet the ray before tmax."""
    x, y, z = bounds.centre[0] - o[0], bounds.centre[1] - o[1], bounds.centre[2] - o[2]
    along = x * d[0] + y * d[1] + z * d[2]
    gap = x * x + y * y + z * z - bounds.radius * bounds.radius
    if gap <= 0.0:
        return False
    return along < 0.0 or along * along < gap or along - math.sqrt(along * along - gap) > tmax


@kernel
def trace(s, o, d, tmax, any_hit):
    """The nearest hit of a ray with unit direction: (distance, solid or -1, part). `any_hit`: any will do."""
    best, found, part = tmax, -1, 0
    for g in range(len(s.groups)):
        group = s.groups[g]
        if _misses(group, o, d, best):
            continue
        for i in range(group.start, group.stop):
            solid = s.solids[i]
            if _misses(solid, o, d, best):
                continue
            place = solid.place
            lo = _local(solid.turn, (o[0] - place[0], o[1] - place[1], o[2] - place[2]))
            ld = _local(solid.turn, d)
            kind, t, f = solid.kind, _FAR, 0
            if kind == ELLIPSOID:
                t = hit_ellipsoid(solid, lo, ld, 1e-4, best)
            elif kind == BOX:
                t, f = hit_box(solid, lo, ld, 1e-4, best)
            elif kind == HANDLE:
                t = hit_handle(solid, lo, ld, 1e-4, best)
            else:
                t, f = hit_lathe(solid, s.segments, lo, ld, 1e-4, best)
            if t < best:
                best, found, part = t, i, f
                if any_hit:
                    return best, found, part
    return best, found, part


@kernel
def sky(d):
    """Radiance of the overcast sky above the studio: brighter and cooler towards the zenith."""
    f = min(max(0.5 + 0.5 * d[2], 0.0), 1.0)
    f = f * f
    return 0.50 + 0.26 * f, 0.54 + 0.34 * f, 0.58 + 0.46 * f


@kernel
def _texel(solid, part, x, y):
    """Row of texel (x, y): columns wrap around round solids and stop at the edge of a box's face."""
    w, h = solid.wide, solid.high
    y = min(max(y, 0), h - 1) if solid.kind != HANDLE else y % h
    if solid.kind == BOX:
        return solid.texel + part * w * h + y * w + min(max(x, 0), w - 1)
    return solid.texel + y * w + x % w


@kernel
def _lit(solid, light, part, u, v):
    """Light map at (u, v), bilinear: diffuse light r, g, b and the visible share of the lamp."""
    x, y = u * solid.wide - 0.5, v * solid.high - 0.5
    x0, y0 = math.floor(x), math.floor(y)
    fx, fy = x - x0, y - y0
    ix, iy = int(x0), int(y0)
    a, b = light[_texel(solid, part, ix, iy)], light[_texel(solid, part, ix + 1, iy)]
    c, d = light[_texel(solid, part, ix, iy + 1)], light[_texel(solid, part, ix + 1, iy + 1)]
    wa, wb, wc, wd = (1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy
    return (
        wa * a[0] + wb * b[0] + wc * c[0] + wd * d[0],
        wa * a[1] + wb * b[1] + wc * c[1] + wd * d[1],
        wa * a[2] + wb * b[2] + wc * c[2] + wd * d[2],
        wa * a[3] + wb * b[3] + wc * c[3] + wd * d[3],
    )


@kernel
def _surface(s, light, o, d, t, i, part):
    """(world normal, colour, light) at a hit."""
    solid = s.solids[i]
    place, turn = solid.place, solid.turn
    p = _local(turn, (o[0] + t * d[0] - place[0], o[1] + t * d[1] - place[1], o[2] + t * d[2] - place[2]))
    n = _world(turn, normal_at(solid, s.segments, p, part))
    u, v = chart(solid, s.segments, p, part)
    return n, albedo(solid, p, part), _lit(solid, light, part, u, v)


@kernel
def _basis(n):
    """Two unit vectors that complete n (Duff et al. 2017)."""
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    return (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]), (b, sign + n[1] * n[1] * a, -n[1])


@kernel
def _along(p, q, n, x, y, z):
    return p[0] * x + q[0] * y + n[0] * z, p[1] * x + q[1] * y + n[1] * z, p[2] * x + q[2] * y + n[2] * z


@kernel
def bake(s, before, after, i, row, rays, lamp_rays):
    """Light arriving at row `row` of solid i's charts (rows of all six faces of a box run on).

    before  [texels, 5] the last bounce's map (zeros at first); after [texels, 5], written in this row:
            r, g, b, lamp share and the share of rays that met the inside of something (a buried texel)
    """
    solid = s.solids[i]
    wide, high = solid.wide, solid.high
    part, lamp = row // high, _unit(_LAMP)
    lp, lq = _basis(lamp)
    for column in range(wide):
        u, v = (column + 0.5) / wide, (row % high + 0.5) / high
        p, piece = unchart(solid, s.segments, u, v, part)
        n = _world(solid.turn, normal_at(solid, s.segments, p, piece))
        at = _world(solid.turn, p)
        o = (
            at[0] + solid.place[0] + 1e-3 * n[0],
            at[1] + solid.place[1] + 1e-3 * n[1],
            at[2] + solid.place[2] + 1e-3 * n[2],
        )
        tp, tq = _basis(n)
        texel = solid.texel + row * wide + column
        shift, spin = hash01(texel, 1, 0), hash01(texel, 2, 0)
        r, g, b, buried = 0.0, 0.0, 0.0, 0.0
        for k in range(rays):
            # cosine-weighted directions on a golden spiral, turned differently in every texel
            e, angle = (k + shift) / rays, 2.0 * math.pi * (0.6180339887498949 * k + spin)
            radius = math.sqrt(e)
            d = _along(tp, tq, n, radius * math.cos(angle), radius * math.sin(angle), math.sqrt(1.0 - e))
            t, j, piece = trace(s, o, d, _FAR, False)
            if j < 0:
                cr, cg, cb = sky(d)
            else:
                m, c, lit = _surface(s, before, o, d, t, j, piece)
                if m[0] * d[0] + m[1] * d[1] + m[2] * d[2] > 0.0:
                    buried += 1.0
                    continue
                cr, cg, cb = c[0] * lit[0], c[1] * lit[1], c[2] * lit[2]
            r, g, b = r + cr, g + cg, b + cb
        facing, seen = n[0] * lamp[0] + n[1] * lamp[1] + n[2] * lamp[2], 0.0
        if facing > 0.0:
            for k in range(lamp_rays):
                radius = _LAMP_RADIUS * math.sqrt((k + shift) / lamp_rays)
                angle = 2.0 * math.pi * (0.6180339887498949 * k + spin)
                d = _unit(_along(lp, lq, lamp, radius * math.cos(angle), radius * math.sin(angle), 1.0))
                _, j, _ = trace(s, o, d, _FAR, True)
                seen += 1.0 if j < 0 else 0.0
        seen /= lamp_rays
        direct = seen * max(facing, 0.0)
        after[texel, 0] = r / rays + direct * _LAMP_LIGHT[0]
        after[texel, 1] = g / rays + direct * _LAMP_LIGHT[1]
        after[texel, 2] = b / rays + direct * _LAMP_LIGHT[2]
        after[texel, 3] = seen
        after[texel, 4] = buried / rays


@kernel
def smooth(s, source, target, i):
    """Buried texels take the mean of their open neighbours; the rest get a light 3 x 3 blur among open ones."""
    solid = s.solids[i]
    charts = 6 if solid.kind == BOX else 1
    for part in range(charts):
        for y in range(solid.high):
            for x in range(solid.wide):
                here = _texel(solid, part, x, y)
                total = 0.0
                for c in range(5):
                    target[here, c] = 0.0
                for b in range(-1, 2):
                    for a in range(-1, 2):
                        near = _texel(solid, part, x + a, y + b)
                        if source[near, 4] > 0.25:
                            continue
                        weight = (2.0 - abs(a)) * (2.0 - abs(b))
                        total += weight
                        for c in range(4):
                            target[here, c] += weight * source[near, c]
                if total > 0.0:
                    for c in range(4):
                        target[here, c] /= total
                else:
                    for c in range(5):
                        target[here, c] = source[here, c]


@kernel
def radiance(s, light, o, d):
    """Linear light that comes back along a ray from the camera."""
    t, i, part = trace(s, o, d, _FAR, False)
    if i < 0:
        return sky(d)
    n, c, lit = _surface(s, light, o, d, t, i, part)
    facing = -(n[0] * d[0] + n[1] * d[1] + n[2] * d[2])
    r, g, b = c[0] * lit[0], c[1] * lit[1], c[2] * lit[2]
    coat, sharpness, mirror = shine(s.solids[i].material)
    if facing <= 0.0:
        return r, g, b
    # Schlick (1994) for a coat of refractive index 1.5
    fresnel = coat * (0.04 + 0.96 * (1.0 - facing) ** 5)
    if not mirror:
        fresnel = min(fresnel, 0.18)
    e = (d[0] + 2 * facing * n[0], d[1] + 2 * facing * n[1], d[2] + 2 * facing * n[2])
    mr, mg, mb = 0.8 * lit[0], 0.8 * lit[1], 0.8 * lit[2]
    if mirror:
        p = (o[0] + t * d[0] + 1e-3 * n[0], o[1] + t * d[1] + 1e-3 * n[1], o[2] + t * d[2] + 1e-3 * n[2])
        t, j, part = trace(s, p, e, _FAR, False)
        if j < 0:
            mr, mg, mb = sky(e)
        else:
            _, c, other = _surface(s, light, p, e, t, j, part)
            mr, mg, mb = c[0] * other[0], c[1] * other[1], c[2] * other[2]
    lamp = _unit(_LAMP)
    lobe = lit[3] * 0.55 * sharpness * math.exp(sharpness * (e[0] * lamp[0] + e[1] * lamp[1] + e[2] * lamp[2] - 1.0))
    keep = 1.0 - fresnel
    return (
        keep * r + fresnel * (mr + lobe * _LAMP_LIGHT[0]),
        keep * g + fresnel * (mg + lobe * _LAMP_LIGHT[1]),
        keep * b + fresnel * (mb + lobe * _LAMP_LIGHT[2]),
    )


@kernel
def _encode(x):
    """Linear light to an sRGB byte (IEC 61966-2-1), with a gentle shoulder instead of clipping."""
    x *= 1.12
    if x > 0.6:
        x = 0.6 + 0.4 * (1.0 - math.exp(-(x - 0.6) / 0.4))
    y = 12.92 * x if x <= 0.0031308 else 1.055 * x ** (1.0 / 2.4) - 0.055
    return np.uint8(min(max(y, 0.0), 1.0) * 255.0 + 0.5)


@kernel
def render(s, light, pose, focal, rgb, depth):
    """One picture. pose [3, 4] camera-to-world (OpenCV axes), focal in pixels, the principal point at the middle.

    rgb    [H, W, 3] uint8, written: sRGB, the mean of four samples (a rotated grid) in linear light
    depth  [H, W] float32, written: z along the viewing axis at the pixel's centre, 0 where nothing is met
    """
    height, width = depth.shape
    o = (pose[0, 3], pose[1, 3], pose[2, 3])
    for y in range(height):
        for x in range(width):
            r, g, b = 0.0, 0.0, 0.0
            for k in range(4):
                px = x + (0.375, 0.875, 0.125, 0.625)[k]
                py = y + (0.125, 0.375, 0.625, 0.875)[k]
                d = _unit(_ray(pose, (px - 0.5 * width) / focal, (py - 0.5 * height) / focal))
                cr, cg, cb = radiance(s, light, o, d)
                r, g, b = r + min(cr, 4.0), g + min(cg, 4.0), b + min(cb, 4.0)
            rgb[y, x, 0], rgb[y, x, 1], rgb[y, x, 2] = _encode(0.25 * r), _encode(0.25 * g), _encode(0.25 * b)
            v = _ray(pose, (x + 0.5 - 0.5 * width) / focal, (y + 0.5 - 0.5 * height) / focal)
            t, i, _ = trace(s, o, _unit(v), _FAR, False)
            depth[y, x] = t / math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) if i >= 0 else 0.0


@kernel
def _ray(pose, x, y):
    return (
        pose[0, 0] * x + pose[0, 1] * y + pose[0, 2],
        pose[1, 0] * x + pose[1, 1] * y + pose[1, 2],
        pose[2, 0] * x + pose[2, 1] * y + pose[2, 2],
    )
