"""Which Gaussians each tile of the image draws, front to back.

A tile is a column of pixels, TILE_WIDTH wide and up to 64 vectors high. Binning works on rows of tiles: per Gaussian and row the exact run of
tiles that its ellipse reaches, so the cost is that of runs, not of (tile, Gaussian) pairs; counting with a difference histogram keeps
every tile's list in depth order without sorting pairs.

An ellipse is where alpha >= 1/255. With conic (A, B, C) it is A dx^2 + 2 B dx dy + C dy^2 <= t, t = 2 ln(255 opacity).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....data.errors import InputError
from ...kernels import pool
from ...kernels.groups import gather
from ...kernels.jit import inlined, kernel
from ...kernels.recycle import take
from ...kernels.simd import LANES, at, claim, load, maximum, minimum, prefetch, put, select, store, vec
from ...kernels.vecmath import log2, vsqrt

f32 = np.float32
TILE_WIDTH = 8
CHUNK = 4096  # Gaussians that are binned in one go
MAX_CHUNKS = 64
MAX_ENTRIES = 2**31 - 1
MAX_SIDE = 2**20  # pixels: floats still resolve a hundredth of a pixel near there
MAX_NATIVE = 16  # channels that one record holds
ALPHA_MIN = 1.0 / 255.0
SLACK = f32(0.002)  # pixels
LOG2E = 1.4426950408889634

# A record: what blending reads of one Gaussian. 16 floats (one cache line) for up to 4 channels, else 32.
(
    MX, MY,            # mean [pixels]
    XX, XY, YY,        # conic, scaled so that log2(alpha) = LEVEL + XX dx^2 + XY dx dy + YY dy^2
    LEVEL,             # log2(opacity)
    LEAN,              # B / C: the ellipse's midline over columns is dy = -LEAN dx
    BOW, HALF,         # its half height at dx is sqrt(BOW dx^2 + HALF)
    HEIGHT, WIDTH,     # half extents of the whole ellipse
    TOP,               # dx at which it is highest (and -TOP, lowest)
    COLOUR,
) = range(13)  # fmt: skip


def record_floats(channels: int) -> int:
    """Size of a record."""
    return 16 if channels <= 4 else 32


@dataclass(frozen=True)
class Tiles:
    """The lists of one image. R visible Gaussians in depth order, E entries (a Gaussian in a tile).

    order    [R] int32     rank -> index of the Gaussian
    records  [R, 16 | 32]  what blending reads
    starts   [tiles + 1]   int64, where each tile's entries begin
    entries  [E] uint64    slot << 32 | rank; slots count entries Gaussian by Gaussian
    slots    [R + 1] int64 a Gaussian's slots are slots[rank] .. slots[rank + 1]
    """

    width: int
    height: int
    tile_height: int
    order: np.ndarray
    records: np.ndarray
    starts: np.ndarray
    entries: np.ndarray
    slots: np.ndarray

    @property
    def across(self) -> int:
        return -(-self.width // TILE_WIDTH)

    @property
    def down(self) -> int:
        return -(-self.height // self.tile_height)


def tile_height(channels: int) -> int:
    """Pixels: at most 64 vectors, fewer if a tile's planes would outgrow the L1 cache."""
    tallest = 64 * (LANES // TILE_WIDTH)
    return tallest if channels <= 4 else tallest // 2 if channels <= 8 else tallest // 4


@inlined
def floor_to(x, limit):
    """floor(x) clamped to [-1, limit], NaN to -1."""
    return np.int64(np.int32(min(max(x, f32(-1.0)), f32(limit)) + f32(1.0))) - 1


@inlined
def ceil_to(x, limit):
    """ceil(x) clamped to [0, limit + 1]."""
    y = min(max(x, f32(0.0)), f32(limit + 1))
    whole = np.int64(np.int32(y))
    return whole + 1 if f32(whole) < y else whole


@kernel
def _pack(
    counter, chunks, n, order, means2d, conics, colours, opacities, channels, stride, tile_height, across, down, records, rows, spans
):
    """Records in depth order; how many tile rows each Gaussian may reach, and per chunk their sum. Odd ones get 0 rows and are not drawn."""
    scratch = np.empty(12 * LANES, np.float32)
    pixel_rows = f32(tile_height)
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        total = 0
        end = n * (chunk + 1) // chunks
        for first in range(n * chunk // chunks, end, LANES):
            # the last vector of a chunk reads on into the next (order is padded by LANES), but only writes its own
            mx, my = gather(means2d, order, first, 2, 0), gather(means2d, order, first, 2, 1)
            a, b, c = gather(conics, order, first, 3, 0), gather(conics, order, first, 3, 1), gather(conics, order, first, 3, 2)
            opacity = gather(opacities, order, first, 1, 0)
            det = a * c - b * b
            good = (opacity >= f32(ALPHA_MIN)) & (a > 0.0) & (c > 0.0) & (det > 0.0) & (det < 1e38)
            good = good & (mx > -1e9) & (mx < 1e9) & (my > -1e9) & (my < 1e9)  # false for NaN
            one = vec(1.0)
            a, b, c, det = select(good, a, one), select(good, b, vec(0.0)), select(good, c, one), select(good, det, one)
            level = log2(select(good, opacity, one))
            reach = maximum(level - f32(math.log2(ALPHA_MIN)), vec(0.0)) * f32(2.0 / LOG2E)
            reach = reach * f32(1.0002) + f32(1e-4)  # slack for rounding: never lose a pixel that counts
            inverse = one / c
            half_height, half_width = vsqrt(reach * a / det) + SLACK, vsqrt(reach * c / det) + SLACK
            store(scratch, MX * LANES, mx)
            store(scratch, MY * LANES, my)
            store(scratch, XX * LANES, a * f32(-0.5 * LOG2E))
            store(scratch, XY * LANES, b * f32(-LOG2E))
            store(scratch, YY * LANES, c * f32(-0.5 * LOG2E))
            store(scratch, LEVEL * LANES, level)
            store(scratch, LEAN * LANES, b * inverse)
            store(scratch, BOW * LANES, -(det * inverse * inverse))
            store(scratch, HALF * LANES, reach * inverse)
            store(scratch, HEIGHT * LANES, select(good, half_height, vec(-1.0)))
            store(scratch, WIDTH * LANES, half_width)
            store(scratch, TOP * LANES, -(b / a) * half_height)
            for lane in range(min(LANES, end - first)):
                rank = first + lane
                p = rank * stride
                for k in range(12):
                    put(records, p + k, at(scratch, k * LANES + lane))
                check = f32(0.0)
                source = np.int64(at(order, rank)) * channels
                for k in range(channels):
                    value = at(colours, source + k)
                    put(records, p + COLOUR + k, value)
                    check += value * f32(0.0)
                for k in range(COLOUR + channels, stride):
                    put(records, p + k, f32(0.0))
                y, half = at(scratch, MY * LANES + lane), at(scratch, HEIGHT * LANES + lane)
                count = 0
                if half >= f32(0.0) and check == f32(0.0):
                    low = max(ceil_to((y - half - (pixel_rows - f32(0.5))) / pixel_rows, down - 1), 0)
                    high = floor_to((y + half - f32(0.5)) / pixel_rows, down - 1)
                    count = max(0, high - low + 1)
                put(rows, rank, count)
                total += count
        put(spans, chunk, total)


@kernel
def _span(counter, chunks, n, stride, tile_height, across, down, records, rows, span_starts, spans, reached, entries, differences):
    """Runs of tiles (first tile << 32 | last column) per Gaussian and tile row, and where runs begin and end as a histogram per chunk.

    reached [n]: tiles of each Gaussian; entries [chunks]: their sum. differences [chunks, down, across + 1].
    """
    pixel_rows, zero = f32(tile_height), f32(0.0)
    per_pixel = f32(1.0 / TILE_WIDTH)
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        difference = differences[chunk]
        difference[:] = 0
        cursor = at(span_starts, chunk)
        total = 0
        for rank in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            count = np.int64(at(rows, rank))
            tiles = 0
            if count > 0:
                p = rank * stride
                mx, my, height, width = at(records, p + MX), at(records, p + MY), at(records, p + HEIGHT), at(records, p + WIDTH)
                top_row = max(ceil_to((my - height - (pixel_rows - f32(0.5))) / pixel_rows, down - 1), 0)
                left = ceil_to((mx - width - f32(TILE_WIDTH - 0.5)) * per_pixel, across - 1)
                right = floor_to((mx + width - f32(0.5)) * per_pixel, across - 1)
                # the same ellipse over rows: midline dx = -slant dy, half width sqrt(bow dy^2 + half)
                ratio = at(records, p + YY) / at(records, p + XX)
                slant, bow, half = at(records, p + LEAN) * ratio, at(records, p + BOW) * ratio * ratio, at(records, p + HALF) * ratio
                side = -at(records, p + LEAN) * width  # dy at which it reaches furthest right
                for row in range(top_row, top_row + count):
                    first, last = left, right
                    if left < right and count > 1:
                        above = f32(row) * pixel_rows + f32(0.5) - my
                        below = above + pixel_rows - f32(1.0)
                        dy = min(max(side, above), below)
                        reach_right = mx - slant * dy + math.sqrt(max(zero, bow * dy * dy + half))
                        dy = min(max(-side, above), below)
                        reach_left = mx - slant * dy - math.sqrt(max(zero, bow * dy * dy + half))
                        first = max(left, ceil_to((reach_left - f32(TILE_WIDTH - 0.498)) * per_pixel, across - 1))
                        last = min(right, floor_to((reach_right - f32(0.498)) * per_pixel, across - 1))
                    if first <= last:
                        put(spans, cursor, (np.uint64(row * across + first) << np.uint64(32)) | np.uint64(last - first + 1))
                        difference[row, first] += 1
                        difference[row, last + 1] -= 1
                        tiles += last - first + 1
                    else:
                        put(spans, cursor, np.uint64(0))
                    cursor += 1
            put(reached, rank, tiles)
            total += tiles
        put(entries, chunk, total)


@kernel
def _scan(counter, chunks, differences, starts):
    """Difference histograms -> where each chunk writes its entries of each tile (in place), and where each tile's list begins."""
    if claim(counter) > 0:
        return
    n, down, wide = differences.shape
    running = np.empty(n, np.int64)
    total = 0
    for y in range(down):
        running[:] = 0
        for x in range(wide - 1):
            starts[y * (wide - 1) + x] = total
            for chunk in range(n):
                running[chunk] += differences[chunk, y, x]
                differences[chunk, y, x] = total
                total += running[chunk]
    starts[down * (wide - 1)] = total


@kernel
def _fill(counter, chunks, n, across, rows, span_starts, spans, reached, slot_starts, cursors, slots, entries):
    """Runs -> entries, each at its tile's cursor; slots [n + 1] along the way."""
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        cursor = cursors[chunk].reshape(-1)
        span, slot = at(span_starts, chunk), at(slot_starts, chunk)
        for rank in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            put(slots, rank, slot)
            for _ in range(at(rows, rank)):
                run = at(spans, span)
                span += 1
                tile = np.int64(run >> np.uint64(32))
                where = tile + tile // across  # cursors have one column more than there are tiles
                for column in range(where, where + np.int64(run & np.uint64(0xFFFFFFFF))):
                    place = at(cursor, column)
                    put(cursor, column, place + 1)
                    put(entries, place, (np.uint64(slot) << np.uint64(32)) | np.uint64(rank))
                    slot += 1
        if chunk == chunks - 1:
            put(slots, n, slot)


def _starts(counts: np.ndarray) -> np.ndarray:
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def build(
    order: np.ndarray,
    means2d: np.ndarray,
    conics: np.ndarray,
    colours: np.ndarray,
    opacities: np.ndarray,
    width: int,
    height: int,
) -> Tiles:
    """Tile lists of one image.

    order     int32 [R], front to back, of an array that goes on for LANES more valid indices (as depth_order makes it)
    means2d   [N, 2] pixels, conics [N, 3] (A, B, C), colours [N, channels <= MAX_NATIVE], opacities [N]; float32, contiguous
    Raises InputError if the picture is too large or there are too many entries.
    """
    if max(width, height) > MAX_SIDE:
        raise InputError(f"picture of {width}x{height} pixels, wanted at most {MAX_SIDE} per side (data.downscale)")
    channels, n = colours.shape[1], len(order)
    stride, pixels = record_floats(channels), tile_height(channels)
    across, down = -(-width // TILE_WIDTH), -(-height // pixels)
    chunks = max(1, min(MAX_CHUNKS, n // CHUNK))
    records, rows, reached = take((n, stride)), take(n, np.int32), take(n, np.int32)
    spans_of, entries_of = np.zeros(chunks, np.int64), np.zeros(chunks, np.int64)
    pool.run(
        _pack, chunks, n, order, means2d, conics, colours, opacities, channels, stride, pixels, across, down, records, rows, spans_of
    )
    span_starts = _starts(spans_of)
    spans = take(int(span_starts[-1]), np.uint64)
    differences = take((chunks, down, across + 1), np.int64)
    pool.run(_span, chunks, n, stride, pixels, across, down, records, rows, span_starts, spans, reached, entries_of, differences)
    slot_starts = _starts(entries_of)
    total = int(slot_starts[-1])
    if total > MAX_ENTRIES:
        raise InputError(
            f"{total} (tile, Gaussian) pairs in one picture, wanted at most {MAX_ENTRIES} (train.max_gaussians, data.downscale)"
        )
    starts, slots, entries = take(across * down + 1, np.int64), take(n + 1, np.int64), take(total, np.uint64)
    pool.run(_scan, 1, differences, starts)
    pool.run(_fill, chunks, n, across, rows, span_starts, spans, reached, slot_starts, differences, slots, entries)
    return Tiles(width, height, pixels, order, records, starts, entries, slots)
