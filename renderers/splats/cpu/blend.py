"""Front-to-back blending of a tile's Gaussians, and its gradient: the kernels in which training spends its time.

    alpha_i = min(0.999, opacity_i exp(-sigma_i)), nothing if below 1/255
    w_i = alpha_i T_i,  T_{i+1} = T_i (1 - alpha_i),  colour = sum_i w_i c_i + T background

A Gaussian that would bring T to 1e-4 or less ends the pixel and is not drawn.

Pixels go through in vectors of LANES: 8 wide, LANES / 8 high. Per Gaussian and tile a bit mask says which vectors its
ellipse reaches; the forward pass keeps the mask of those it changed for the backward pass, and each pixel's end.

The backward pass walks front to back too. Of what a pixel's loss gradient v says about the colour behind Gaussian i,
    rest_i = v . colour - T v_alpha - sum_{j <= i} w_j (v . c_j),
it subtracts as it goes, so nothing is stored per pair:  dL/dalpha_i = T_i (v . c_i) - rest_i / (1 - alpha_i).
Sums over the pixels of a few neighbouring tiles land in a slot of that group and Gaussian; slots of one Gaussian lie
side by side and are added up in order by `gather_slots`. So no sum depends on which thread came first.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels.groups import add_lane_sums, axpy, dot, load_planes, spread, store_planes, zeros
from ...kernels.jit import inlined, kernel
from ...kernels.simd import (
    LANES,
    any_of,
    at,
    claim,
    load,
    lowest_bit,
    minimum,
    muladd,
    prefetch,
    put,
    select,
    store,
    vec,
    veci,
)
from ...kernels.vecmath import exp2, vabs
from .tiles import BOW, COLOUR, GROUP, HALF, LEAN, LEVEL, MX, MY, TILE_WIDTH, TOP, XX, XY, YY

f32, u64 = np.float32, np.uint64
LEVEL_MIN = f32(math.log2(1.0 / 255.0))
ALPHA_MAX = f32(0.999)
T_MIN = f32(1e-4)
HIGH = LANES // TILE_WIDTH  # pixel rows per vector
COLUMN = np.tile(np.arange(TILE_WIDTH, dtype=np.float32) + np.float32(0.5), HIGH)
ROW = np.repeat(np.arange(HIGH, dtype=np.float32) + np.float32(0.5), TILE_WIDTH)
NEVER = f32(np.inf)
GEOMETRY = 6  # sums beside those of the colours: g, g dx, g dy, g dx^2, g dx dy, g dy^2
LOW32 = u64(0xFFFFFFFF)


def slot_floats(channels: int, absolute: bool) -> int:
    """Size of a slot: whole cache lines."""
    return -(-(channels + GEOMETRY + 2 * absolute) // 16) * 16


@inlined
def aligned(n):
    """Scratch floats on a cache line boundary."""
    raw = np.empty(n + 16, np.float32)
    start = ((64 - (raw.ctypes.data & 63)) & 63) >> 2
    return raw[start : start + n]


@inlined
def reached_vectors(records, p, mx, my, tile_height):
    """Bit mask of the tile's vectors that an ellipse with mean (mx, my), relative to the tile, reaches."""
    zero = f32(0.0)
    left, right, top = f32(0.5) - mx, f32(TILE_WIDTH - 0.5) - mx, at(records, p + TOP)
    lean, bow, half = at(records, p + LEAN), at(records, p + BOW), at(records, p + HALF)
    dx = min(max(top, left), right)
    low = my - lean * dx + math.sqrt(max(zero, bow * dx * dx + half))
    dx = min(max(-top, left), right)
    high = my - lean * dx - math.sqrt(max(zero, bow * dx * dx + half))
    # rows high - 0.5 .. low - 0.5, with 0.002 to spare
    first = np.int32(min(max(high - f32(0.502), zero), f32(tile_height)) + f32(0.999999))
    last = np.int32(min(max(low - f32(0.498), f32(-1.0)), f32(tile_height - 1)) + f32(1.0)) - np.int32(1)
    if last < first:
        return u64(0)
    first, last = first // HIGH, last // HIGH
    return (u64(0xFFFFFFFFFFFFFFFF) >> u64(63 - last)) & (u64(0xFFFFFFFFFFFFFFFF) << u64(first))


@kernel
def blend_forward(
    counter, tiles, across, tile_height, width, height, starts, entries, records, stride, background, depth, keep,
    image, alphas, ends, reached, tile_ends, channels,
):  # fmt: skip
    """Draw.

    image [height, width, depth], alphas [height, width]; depth <= len(channels): planes beyond depth are padding.
    If `keep`: ends [height, width] int32 (position in the tile's list that ended the pixel), reached [E] uint64 and
    tile_ends [tiles].
    """
    n = len(channels)
    pixels = tile_height * TILE_WIDTH
    transmittance, limit, planes = aligned(pixels), aligned(pixels), aligned(pixels * n)
    end = aligned(pixels).view(np.int32)
    column, row = load(COLUMN, 0), load(ROW, 0)
    zero, one, never = vec(0.0), vec(1.0), vec(NEVER)
    while True:
        tile = claim(counter)
        if tile >= tiles:
            return
        tile_y = tile // across
        tile_x = tile - tile_y * across
        x0, y0 = tile_x * TILE_WIDTH, tile_y * tile_height
        wide, high = min(TILE_WIDTH, width - x0), min(tile_height, height - y0)
        for k in range(0, pixels, LANES):
            store(transmittance, k, one)
            store(limit, k, vec(LEVEL_MIN))
            store_planes(planes, k * n, zeros(channels))
            store(end, k, veci(0x7FFFFFFF))
        if wide < TILE_WIDTH or high < tile_height:
            for k in range(pixels):
                if k % TILE_WIDTH >= wide or k // TILE_WIDTH >= high:
                    limit[k] = NEVER
        alive = u64(0xFFFFFFFFFFFFFFFF) >> u64(64 - (high + HIGH - 1) // HIGH)
        first, last = at(starts, tile), at(starts, tile + 1)
        i = first
        while i < last and alive != u64(0):
            prefetch(records, np.int64(at(entries, min(i + 4, last - 1)) & LOW32) * stride)
            p = np.int64(at(entries, i) & LOW32) * stride
            mx, my = at(records, p + MX) - f32(x0), at(records, p + MY) - f32(y0)
            todo = reached_vectors(records, p, mx, my, tile_height) & alive
            changed = u64(0)
            if todo != u64(0):
                dx = column - mx
                slope = dx * at(records, p + XX)
                xy, yy, level = vec(at(records, p + XY)), vec(at(records, p + YY)), vec(at(records, p + LEVEL))
                colour = spread(records, p + COLOUR, channels)
                while todo != u64(0):
                    r = lowest_bit(todo)
                    todo &= todo - u64(1)
                    o = r * LANES
                    dy = row + (f32(r * HIGH) - my)
                    exponent = muladd(muladd(dy, xy, slope), dx, muladd(dy * yy, dy, level))
                    drawn = exponent >= load(limit, o)
                    if not any_of(drawn):
                        continue
                    alpha = select(drawn, minimum(exp2(exponent), ALPHA_MAX), zero)
                    t = load(transmittance, o)
                    weight = alpha * t
                    left = t - weight
                    done = drawn & (left <= T_MIN)
                    if any_of(done):
                        weight = select(done, zero, weight)
                        left = t - weight
                        lim = select(done, never, load(limit, o))
                        store(limit, o, lim)
                        store(end, o, select(done, veci(i - first), load(end, o)))
                        if not any_of(lim < never):
                            alive &= ~(u64(1) << u64(r))
                    store(transmittance, o, left)
                    store_planes(planes, o * n, axpy(weight, colour, load_planes(planes, o * n, channels)))
                    changed |= u64(1) << u64(r)
            if keep:
                put(reached, i, changed)
            i += 1
        if keep:
            put(tile_ends, tile, i)
        for y in range(high):
            for x in range(wide):
                k = y * TILE_WIDTH + x
                q = (y0 + y) * width + x0 + x
                t = at(transmittance, k)
                v, lane = k // LANES, k % LANES
                for c in range(depth):
                    put(image, q * depth + c, at(planes, (v * n + c) * LANES + lane) + t * at(background, c))
                put(alphas, q, f32(1.0) - t)
                if keep:
                    put(ends, q, at(end, k))


@kernel
def blend_backward(
    counter, groups, across, tile_height, width, height, starts, entries, records, stride, depth,
    image, alphas, ends, reached, tile_ends, v_image, v_alphas, use_alphas, slot_size, slots, used, channels, absolute,
):  # fmt: skip
    """Sums over the pixels of a group of tiles, into slots [slots, slot_size]; used [slots] uint8 (zero before) is set
    to 1 where a slot is written. A group's tiles are done in order by one thread, and nobody else writes its slots.

    A slot: v . w per channel, then with g = alpha dL/dalpha the sums of g, g dx, g dy, g dx^2, g dx dy, g dy^2, and if
    `absolute` is a tuple of length 1 (not 0) of |g (A dx + B dy)| and |g (B dx + C dy)|, both times log2(e).
    """
    n = len(channels)
    pixels = tile_height * TILE_WIDTH
    transmittance, rest, planes = aligned(pixels), aligned(pixels), aligned(pixels * n)
    end = aligned(pixels).view(np.int32)
    column, row = load(COLUMN, 0), load(ROW, 0)
    zero, one = vec(0.0), vec(1.0)
    while True:
        group = claim(counter)
        if group >= groups:
            return
        per_row = (across + GROUP - 1) // GROUP
        tile_y = group // per_row
        first_x = (group - tile_y * per_row) * GROUP
        for tile_x in range(first_x, min(first_x + GROUP, across)):
            tile = tile_y * across + tile_x
            x0, y0 = tile_x * TILE_WIDTH, tile_y * tile_height
            wide, high = min(TILE_WIDTH, width - x0), min(tile_height, height - y0)
            transmittance[:] = f32(1.0)
            if wide < TILE_WIDTH or high < tile_height or depth < n:
                planes[:] = f32(0.0)
                rest[:] = f32(0.0)
                end[:] = -1
            for y in range(high):
                for x in range(wide):
                    k = y * TILE_WIDTH + x
                    q = (y0 + y) * width + x0 + x
                    v, lane = k // LANES, k % LANES
                    total = (at(alphas, q) - f32(1.0)) * at(v_alphas, q) if use_alphas else f32(0.0)
                    for c in range(depth):
                        g = at(v_image, q * depth + c)
                        put(planes, (v * n + c) * LANES + lane, g)
                        total += g * at(image, q * depth + c)
                    put(rest, k, total)
                    put(end, k, at(ends, q))
            first, last = at(starts, tile), at(tile_ends, tile)
            for i in range(first, last):
                todo = at(reached, i)
                ahead = at(entries, min(i + 4, last - 1))
                prefetch(records, np.int64(ahead & LOW32) * stride)
                prefetch(slots, np.int64(ahead >> u64(32)) * slot_size)
                if todo == u64(0):
                    continue
                entry = at(entries, i)
                p = np.int64(entry & LOW32) * stride
                mx, my = at(records, p + MX) - f32(x0), at(records, p + MY) - f32(y0)
                dx = column - mx
                slope = dx * at(records, p + XX)
                xy, yy, level = vec(at(records, p + XY)), vec(at(records, p + YY)), vec(at(records, p + LEVEL))
                colour = spread(records, p + COLOUR, channels)
                position = veci(i - first)
                sums = zeros(channels)
                s0, sy, syy, ax, ay = zero, zero, zero, zero, zero
                while todo != u64(0):
                    r = lowest_bit(todo)
                    todo &= todo - u64(1)
                    o = r * LANES
                    dy = row + (f32(r * HIGH) - my)
                    exponent = muladd(muladd(dy, xy, slope), dx, muladd(dy * yy, dy, level))
                    drawn = (exponent >= LEVEL_MIN) & (load(end, o) > position)
                    raw = exp2(exponent)
                    alpha = select(drawn, minimum(raw, ALPHA_MAX), zero)
                    t = load(transmittance, o)
                    weight = alpha * t
                    store(transmittance, o, t - weight)
                    v = load_planes(planes, o * n, channels)
                    seen = dot(v, colour)
                    behind = load(rest, o) - weight * seen
                    store(rest, o, behind)
                    sums = axpy(weight, v, sums)
                    slack = one - alpha
                    g = select(raw <= ALPHA_MAX, alpha * (t * seen - behind / slack), zero)
                    s0 = s0 + g
                    gy = g * dy
                    sy = sy + gy
                    syy = muladd(gy, dy, syy)
                    if len(absolute) > 0:
                        ax = ax + vabs(g * (slope * 2.0 + xy * dy))
                        ay = ay + vabs(g * (yy * dy * 2.0 + xy * dx))
                slot = np.int64(entry >> u64(32))
                sx = s0 * dx
                geometry = (s0, sx, sy, sx * dx, sy * dx, syy)
                if len(absolute) > 0:
                    add_lane_sums(slots, slot * slot_size, sums + geometry + (ax, ay), at(used, slot))
                else:
                    add_lane_sums(slots, slot * slot_size, sums + geometry, at(used, slot))
                put(used, slot, 1)


ROWS = 1024  # Gaussians per block of gather_slots


@kernel
def gather_slots(
    counter, blocks, n, slot_starts, slot_size, slots, used, conics, opacities, depth,
    v_means2d, v_conics, v_colours, v_opacities, v_absolute, channels, absolute,
):  # fmt: skip
    """Add up each Gaussian's slots in their order and write its gradients: zeros for one that changed no pixel."""
    planes, zero = len(channels), f32(0.0)
    total = aligned(32)
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            for k in range(0, slot_size, LANES):
                store(total, k, vec(0.0))
            hit = False
            for slot in range(at(slot_starts, i), at(slot_starts, i + 1)):
                if at(used, slot):
                    hit = True
                    for k in range(0, slot_size, LANES):
                        store(total, k, load(total, k) + load(slots, slot * slot_size + k))
            for c in range(depth):
                put(v_colours, i * depth + c, at(total, c))
            a, b, c_ = at(conics, 3 * i), at(conics, 3 * i + 1), at(conics, 3 * i + 2)
            sx, sy = at(total, planes + 1), at(total, planes + 2)
            put(v_opacities, i, at(total, planes) / at(opacities, i) if hit else zero)
            put(v_means2d, 2 * i, a * sx + b * sy if hit else zero)
            put(v_means2d, 2 * i + 1, b * sx + c_ * sy if hit else zero)
            put(v_conics, 3 * i, at(total, planes + 3) * f32(-0.5))
            put(v_conics, 3 * i + 1, -at(total, planes + 4))
            put(v_conics, 3 * i + 2, at(total, planes + 5) * f32(-0.5))
            if len(absolute) > 0:
                ln2 = f32(0.6931471805599453)
                put(v_absolute, 2 * i, at(total, planes + 6) * ln2)
                put(v_absolute, 2 * i + 1, at(total, planes + 7) * ln2)
