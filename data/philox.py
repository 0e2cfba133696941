"""Counter-based random numbers: a draw depends on (seed, purpose, step, id) alone, never on order, threads or ranks.

Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

import zlib

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Ten rounds over counters [n, 4] uint32 under a 64-bit key -> [n, 4] uint32."""
    c0, c1, c2, c3 = (counter[:, i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (
            (p1 >> _32) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _32) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def _words(seed: int, purpose: str, step: int, ids: np.ndarray, block: int) -> np.ndarray:
    ids = np.asarray(ids, dtype=np.uint64)
    counter = np.empty((len(ids), 4), dtype=np.uint32)
    counter[:, 0] = ids & _LOW
    counter[:, 1] = ids >> _32
    counter[:, 2] = np.uint32(step & 0xFFFFFFFF)
    counter[:, 3] = np.uint32(block)
    low, high = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    return philox(counter, (low, (high ^ zlib.crc32(purpose.encode())) & 0xFFFFFFFF))


def uniform(seed: int, purpose: str, step: int, ids: np.ndarray, width: int = 1) -> np.ndarray:
    """Uniform float64 in the open interval (0, 1), [n, width], one row per id."""
    blocks = [_words(seed, purpose, step, ids, b) for b in range(-(-width // 4))]
    return (np.concatenate(blocks, axis=1)[:, :width].astype(np.float64) + 0.5) / 2.0**32


def normal(seed: int, purpose: str, step: int, ids: np.ndarray, width: int = 1) -> np.ndarray:
    """Standard normal float64 [n, width] by Box-Muller."""
    pairs = -(-width // 2)
    u = uniform(seed, purpose, step, ids, 2 * pairs)
    r, angle = np.sqrt(-2.0 * np.log(u[:, :pairs])), 2.0 * np.pi * u[:, pairs:]
    return np.concatenate([r * np.cos(angle), r * np.sin(angle)], axis=1)[:, :width]


def permutation(seed: int, purpose: str, step: int, n: int) -> np.ndarray:
    """A random order of range(n)."""
    return np.argsort(uniform(seed, purpose, step, np.arange(n))[:, 0], kind="stable")
