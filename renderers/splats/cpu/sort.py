"""Depth order: a stable parallel radix sort, so that equal depths stay in the order of their index.

32-bit keys in three passes of 11 bits. The cuts between chunks depend on n alone: the result is the same for any number
of threads (it is for any cuts, the sort being stable).
"""

from __future__ import annotations

import numpy as np

from ...kernels import pool
from ...kernels.jit import inlined, kernel
from ...kernels.recycle import take
from ...kernels.simd import at, claim, put

BITS, DIGITS = 11, 2048
CHUNK = 65536
LOW = np.uint64(0xFFFFFFFF)


@inlined
def _key(bits):
    """Float bits to an unsigned integer of the same order: flip the sign bit, and of negative numbers all bits."""
    b = np.uint32(bits)
    return b ^ np.uint32(0xFFFFFFFF) if b >> np.uint32(31) else b | np.uint32(0x80000000)


@kernel
def _count(counter, chunks, n, shift, first, depth_bits, radii, keyed, histograms):
    """Digits of each chunk. The first pass reads depths and leaves out what is culled, later ones read what the pass
    before wrote."""
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        row = histograms[chunk]
        row[:] = 0
        for i in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            if first:
                if at(radii, 2 * i) > 0 and at(radii, 2 * i + 1) > 0:
                    row[_key(at(depth_bits, i)) & np.uint32(DIGITS - 1)] += 1
            else:
                row[(at(keyed, i) >> np.uint64(32 + shift)) & np.uint64(DIGITS - 1)] += 1


@kernel
def _offsets(counter, chunks, histograms):
    """Counts to the places where each chunk's digits go; histograms[chunks, 0] becomes the total."""
    if claim(counter) > 0:
        return
    total = 0
    n = histograms.shape[0] - 1
    for digit in range(DIGITS):
        for chunk in range(n):
            count = histograms[chunk, digit]
            histograms[chunk, digit] = total
            total += count
    histograms[n, 0] = total


@kernel
def _scatter(counter, chunks, n, shift, first, last, depth_bits, radii, keyed, histograms, out, order):
    """Entries (key << 32 | index) to their places; the last pass keeps the index alone."""
    while True:
        chunk = claim(counter)
        if chunk >= chunks:
            return
        cursor = histograms[chunk]
        for i in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            if first:
                if at(radii, 2 * i) <= 0 or at(radii, 2 * i + 1) <= 0:
                    continue
                entry = (np.uint64(_key(at(depth_bits, i))) << np.uint64(32)) | np.uint64(i)
            else:
                entry = at(keyed, i)
            digit = (entry >> np.uint64(32 + shift)) & np.uint64(DIGITS - 1)
            place = cursor[digit]
            cursor[digit] = place + 1
            if last:
                put(order, place, np.int32(entry & LOW))
            else:
                put(out, place, entry)


def depth_order(depths: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Indices (int32, [visible]) of Gaussians with positive radii, front to back. depths [N] float32, radii [N, 2]
    int32."""
    n = len(depths)
    bits = depths.view(np.uint32)
    order, one, two = take(n, np.int32), take(n, np.uint64), take(n, np.uint64)
    visible = n
    for step in range(3):
        chunks = max(1, -(-visible // CHUNK))
        histograms = np.empty((chunks + 1, DIGITS), np.int64)
        first, last = step == 0, step == 2
        pool.run(_count, chunks, visible, BITS * step, first, bits, radii, one, histograms)
        pool.run(_offsets, 1, histograms)
        pool.run(_scatter, chunks, visible, BITS * step, first, last, bits, radii, one, histograms, two, order)
        visible = int(histograms[chunks, 0])
        one, two = two, one
    return order[:visible]
