"""Which Gaussians each tile of the image draws, front to back.

A tile is a column of pixels, TILE_WIDTH wide and up to 64 vectors high. Binning works on rows of tiles: per Gaussian
and row the exact run of tiles that its ellipse reaches, so the cost is that of runs, not of (tile, Gaussian) pairs;
counting with a difference histogram keeps every tile's list in depth order without sorting pairs.

An ellipse is where alpha >= 1/255. With conic (A, B, C) it is A dx^2 + 2 B dx dy + C dy^2 <= t, t = 2 ln(255 opacity).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....data.errors import InputError
from ...kernels import pool
from ...kernels.groups import load_columns, store_rows
from ...kernels.jit import inlined, kernel
from ...kernels.recycle import take
from ...kernels.rows import run_rows
from ...kernels.simd import LANES, any_of, at, claim, load, maximum, prefetch, put, select, store, vec
from ...kernels.vecmath import log2, vsqrt

f32 = np.float32
TILE_WIDTH = 8
GROUP = 4  # neighbouring tiles of a row that share slots: the backward pass does them one after another
ROWS = 1024  # Gaussians per block of _pack
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
    """The lists of one image with N Gaussians and E entries (a Gaussian in a tile).

    records  [N, 16 | 32]   what blending reads (undefined for Gaussians in no tile)
    starts   [tiles + 1]    int64, where each tile's entries begin
    entries  [E] uint64     slot << 32 | index of the Gaussian, front to back in each tile; slots count entries
             Gaussian by Gaussian
    slots    [N + 1] int64  Gaussian i has the slots slots[i] .. slots[i + 1]
    """

    width: int
    height: int
    tile_height: int
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
def _pack(counter, blocks, n, means2d, conics, colours, opacities, channels, stride, tile_height, down, records, rows):
    """Records, and how many rows of tiles each Gaussian may reach: 0 for those that are not to be drawn."""
    pixel_rows, per_row, one, zero = f32(tile_height), f32(1.0) / f32(tile_height), vec(1.0), vec(0.0)
    middle, half = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        for i in range(block * ROWS, min(n, (block + 1) * ROWS), LANES):
            mx, my = load_columns(means2d, 2 * i, 2)
            a, b, c = load_columns(conics, 3 * i, 3)
            opacity = load(opacities, i)
            det = a * c - b * b
            good = (opacity >= f32(ALPHA_MIN)) & (opacity < 1e30) & (a > 0.0) & (c > 0.0) & (det > 0.0) & (det < 1e38)
            good = good & (mx > -1e9) & (mx < 1e9) & (my > -1e9) & (my < 1e9)  # false for NaN
            if not any_of(good):
                for lane in range(LANES):
                    put(rows, i + lane, 0)
                continue
            a, b, c, det = select(good, a, one), select(good, b, zero), select(good, c, one), select(good, det, one)
            level = log2(select(good, opacity, one))
            reach = maximum(level - f32(math.log2(ALPHA_MIN)), zero) * f32(2.0 / LOG2E)
            reach = reach * f32(1.0002) + f32(1e-4)  # slack for rounding: never lose a pixel that counts
            inverse, scale = one / c, reach / det
            height, width = vsqrt(scale * a) + SLACK, vsqrt(scale * c) + SLACK
            record = (
                mx, my, a * f32(-0.5 * LOG2E), b * f32(-LOG2E), c * f32(-0.5 * LOG2E), level,
                b * inverse, -(det * inverse * inverse), reach * inverse, height, width, -(b / a) * height,
            )  # fmt: skip
            store_rows(records, i * stride, stride, record)
            store(middle, 0, my)
            store(half, 0, select(good, height, vec(-1.0)))
            for lane in range(LANES):
                p, source, check = (i + lane) * stride + COLOUR, (i + lane) * channels, f32(0.0)
                for k in range(channels):
                    value = at(colours, source + k)
                    put(records, p + k, value)
                    check += abs(value)
                for k in range(channels, stride - COLOUR):
                    put(records, p + k, f32(0.0))
                y, reach_y, count = at(middle, lane), at(half, lane), 0
                if reach_y >= f32(0.0) and check < f32(1e30):  # false for NaN
                    first = ceil_to((y - reach_y - (pixel_rows - f32(0.5))) * per_row, down - 1)
                    last = floor_to((y + reach_y - f32(0.5)) * per_row, down - 1)
                    count = max(0, last - first + 1)
                put(rows, i + lane, count)


@kernel
def _count_rows(counter, chunks, n, order, rows, totals):
    """Sum of `rows` over each chunk of ranks."""
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        total = 0
        for rank in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            total += np.int64(at(rows, at(order, rank)))
        put(totals, chunk, total)


@kernel
def _span(
    counter,
    chunks,
    n,
    order,
    stride,
    tile_height,
    across,
    down,
    records,
    rows,
    span_starts,
    spans,
    reached,
    differences,
):
    """Runs of tiles (first tile << 32 | length) per Gaussian and tile row, and where runs begin and end as a histogram
    per chunk.

    reached [N + 1]: groups of tiles of Gaussian i at i + 1. differences [chunks, down, wide].
    """
    pixel_rows, zero = f32(tile_height), f32(0.0)
    per_pixel, per_row, wide = f32(1.0 / TILE_WIDTH), f32(1.0) / pixel_rows, differences.shape[2]
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        difference = differences[chunk].reshape(-1)
        difference[:] = 0
        cursor = at(span_starts, chunk)
        stop = n * (chunk + 1) // chunks
        for rank in range(n * chunk // chunks, stop):
            prefetch(records, np.int64(at(order, min(rank + 8, stop - 1))) * stride)
            i = np.int64(at(order, rank))
            count = np.int64(at(rows, i))
            groups = 0
            if count > 0:
                p = i * stride
                mx, my, height, width = (
                    at(records, p + MX),
                    at(records, p + MY),
                    at(records, p + HEIGHT),
                    at(records, p + WIDTH),
                )
                top_row = ceil_to((my - height - (pixel_rows - f32(0.5))) * per_row, down - 1)
                left = ceil_to((mx - width - f32(TILE_WIDTH - 0.5)) * per_pixel, across - 1)
                right = floor_to((mx + width - f32(0.5)) * per_pixel, across - 1)
                # the same ellipse over rows: midline dx = -slant dy, half width sqrt(bow dy^2 + half)
                ratio = at(records, p + YY) / at(records, p + XX)
                slant, bow, half = (
                    at(records, p + LEAN) * ratio,
                    at(records, p + BOW) * ratio * ratio,
                    at(records, p + HALF) * ratio,
                )
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
                        begin = row * wide + first
                        end = begin + last - first + 1
                        put(spans, cursor, (np.uint64(begin) << np.uint64(32)) | np.uint64(end))
                        put(difference, begin, at(difference, begin) + 1)
                        put(difference, end, at(difference, end) - 1)
                        groups += (end - 1) // GROUP - begin // GROUP + 1
                    else:
                        put(spans, cursor, np.uint64(0))
                    cursor += 1
            put(reached, i + 1, groups)


@kernel
def _scan(counter, chunks, across, differences, starts):
    """Difference histograms -> where each chunk writes its entries of each tile (in place), and where each tile's list
    begins."""
    if claim(counter) > 0:
        return
    n, down, _ = differences.shape
    running = np.empty(n, np.int64)
    total = 0
    for y in range(down):
        running[:] = 0
        for x in range(across):
            starts[y * across + x] = total
            for chunk in range(n):
                running[chunk] += differences[chunk, y, x]
                differences[chunk, y, x] = total
                total += running[chunk]
    starts[down * across] = total


@kernel
def _fill(counter, chunks, n, order, rows, span_starts, spans, slots, cursors, entries):
    """Runs -> entries, each at its tile's cursor."""
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        cursor = cursors[chunk].reshape(-1)
        span = at(span_starts, chunk)
        for rank in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            i = np.int64(at(order, rank))
            slot = at(slots, i)
            for _ in range(at(rows, i)):
                run = at(spans, span)
                span += 1
                begin, end = np.int64(run >> np.uint64(32)), np.int64(run & np.uint64(0xFFFFFFFF))
                slot -= begin // GROUP
                for column in range(begin, end):
                    place = at(cursor, column)
                    put(cursor, column, place + 1)
                    put(entries, place, (np.uint64(slot + column // GROUP) << np.uint64(32)) | np.uint64(i))
                slot += (end - 1) // GROUP + 1


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

    order     [R] int32, those to draw, front to back
    means2d   [N, 2] pixels, conics [N, 3] (A, B, C), colours [N, channels <= MAX_NATIVE], opacities [N]; float32,
              contiguous
    Raises InputError if the picture is too large or there are too many entries.
    """
    if max(width, height) > MAX_SIDE:
        raise InputError(f"picture of {width}x{height} pixels, wanted at most {MAX_SIDE} per side (data.downscale)")
    channels, total, n = colours.shape[1], len(opacities), len(order)
    stride, pixels = record_floats(channels), tile_height(channels)
    across, down = -(-width // TILE_WIDTH), -(-height // pixels)
    records, rows = take((total, stride)), take(total, np.int32)
    args = [means2d, conics, colours, opacities, channels, stride, pixels, down, records, rows]
    run_rows(_pack, total, ROWS, args, rows=[0, 1, 2, 3, 8, 9], written=[8, 9])

    chunks = max(1, min(MAX_CHUNKS, n // CHUNK))
    spans_of = np.empty(chunks, np.int64)
    pool.run(_count_rows, chunks, n, order, rows, spans_of)
    span_starts = _starts(spans_of)
    spans = take(int(span_starts[-1]), np.uint64)
    differences = take((chunks, down, -(-(across + 1) // GROUP) * GROUP), np.int64)
    slots = take(total + 1, np.int64)
    slots.fill(0)
    pool.run(
        _span, chunks, n, order, stride, pixels, across, down, records, rows, span_starts, spans, slots, differences
    )
    np.cumsum(slots, out=slots)
    starts = take(across * down + 1, np.int64)
    pool.run(_scan, 1, across, differences, starts)
    if starts[-1] > MAX_ENTRIES:
        raise InputError(
            f"{starts[-1]} (tile, Gaussian) pairs in one picture, "
            f"wanted at most {MAX_ENTRIES} (train.max_gaussians, data.downscale)"
        )
    entries = take(int(starts[-1]), np.uint64)
    pool.run(_fill, chunks, n, order, rows, span_starts, spans, slots, differences, entries)
    return Tiles(width, height, pixels, records, starts, entries, slots)
