"""Repeatable randomness inside kernels: an integer hash and the value noise built on it.

All arithmetic is int64 below 2**62, so nothing overflows and every platform gives the same bits.
"""

from __future__ import annotations

import math

from numba import njit

# Numpy's rules for division: no branch that could raise, so loops stay tight and compile sooner.
kernel = njit(nogil=True, error_model="numpy")

_MASK = 0xFFFFFFFF


@kernel
def hash01(i: int, j: int, k: int) -> float:
    """A uniform number in [0, 1) that depends on three integers."""
    h = (i * 73856093 ^ j * 19349663 ^ k * 83492791) & _MASK
    h = ((h ^ (h >> 16)) * 0x45D9F3B) & _MASK
    h = ((h ^ (h >> 15)) * 0x2C1B3C6D) & _MASK
    h = h ^ (h >> 16)
    return h / 4294967296.0


@kernel
def noise(x: float, y: float, z: float) -> float:
    """Value noise in [0, 1] with one cell per unit, quintic interpolation (C2)."""
    fx, fy, fz = math.floor(x), math.floor(y), math.floor(z)
    i, j, k = int(fx), int(fy), int(fz)
    u, v, w = x - fx, y - fy, z - fz
    u = u * u * u * (u * (u * 6.0 - 15.0) + 10.0)
    v = v * v * v * (v * (v * 6.0 - 15.0) + 10.0)
    w = w * w * w * (w * (w * 6.0 - 15.0) + 10.0)
    a = hash01(i, j, k) * (1 - u) + hash01(i + 1, j, k) * u
    b = hash01(i, j + 1, k) * (1 - u) + hash01(i + 1, j + 1, k) * u
    c = hash01(i, j, k + 1) * (1 - u) + hash01(i + 1, j, k + 1) * u
    d = hash01(i, j + 1, k + 1) * (1 - u) + hash01(i + 1, j + 1, k + 1) * u
    return (a * (1 - v) + b * v) * (1 - w) + (c * (1 - v) + d * v) * w


@kernel
def fbm(x: float, y: float, z: float, octaves: int) -> float:
    """Fractal noise in [0, 1]: each octave twice as fine and half as strong."""
    total, weight, norm = 0.0, 1.0, 0.0
    for _ in range(octaves):
        total += weight * noise(x, y, z)
        norm += weight
        weight *= 0.5
        x, y, z = 2.03 * x + 17.3, 2.03 * y - 9.1, 2.03 * z + 4.7
    return total / norm


@kernel
def smoothstep(low: float, high: float, x: float) -> float:
    """0 below `low`, 1 above `high`, a cubic ramp between."""
    t = min(max((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)
