"""Langevin noise on the means of Gaussians (3DGS-MCMC), drawn by Philox so that it depends on (seed, step, id) alone.

The numbers are those of `data.philox.normal(seed, "wander", step, ids, 3)`.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
import torch

from .jit import inlined, kernel
from .pool import run
from .simd import claim

BLOCK = 2048
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_TO_UNIT = 2.0**-32


@inlined
def _philox(c0, c1, c2, c3, k0, k1):
    """Ten rounds of Philox4x32 on uint64 variables that hold 32-bit words."""
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@inlined
def _unit(word):
    return (float(word) + 0.5) * _TO_UNIT


@kernel
def _wander(counter, blocks, means, quats, log_scales, logits, ids, key0, key1, step, scale):
    while True:
        block = claim(counter)
        if block >= blocks:
            break
        for i in range(block * BLOCK, min(len(ids), (block + 1) * BLOCK)):
            word = np.uint64(ids[i])
            a0, a1, a2, a3 = _philox(word & _LOW, word >> _32, step, np.uint64(0), key0, key1)
            # normal(..., width=3) takes four uniforms: radii from the first pair, angles from the second.
            r0, r1 = math.sqrt(-2.0 * math.log(_unit(a0))), math.sqrt(-2.0 * math.log(_unit(a1)))
            t0, t1 = 2.0 * math.pi * _unit(a2), 2.0 * math.pi * _unit(a3)
            gate = scale / (1.0 + math.exp(100.0 * (1.0 / (1.0 + math.exp(-float(logits[i]))) - 0.005)))
            z0, z1, z2 = gate * r0 * math.cos(t0), gate * r1 * math.cos(t1), gate * r0 * math.sin(t0)
            w, x, y, z = float(quats[i, 0]), float(quats[i, 1]), float(quats[i, 2]), float(quats[i, 3])
            n = 1.0 / math.sqrt(max(w * w + x * x + y * y + z * z, 1e-30))
            w, x, y, z = w * n, x * n, y * n, z * n
            r00, r01, r02 = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
            r10, r11, r12 = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
            r20, r21, r22 = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
            s0, s1, s2 = (
                math.exp(2.0 * float(log_scales[i, 0])),
                math.exp(2.0 * float(log_scales[i, 1])),
                math.exp(2.0 * float(log_scales[i, 2])),
            )
            # R diag(s^2) R^T z
            u0 = s0 * (r00 * z0 + r10 * z1 + r20 * z2)
            u1 = s1 * (r01 * z0 + r11 * z1 + r21 * z2)
            u2 = s2 * (r02 * z0 + r12 * z1 + r22 * z2)
            means[i, 0] += np.float32(r00 * u0 + r01 * u1 + r02 * u2)
            means[i, 1] += np.float32(r10 * u0 + r11 * u1 + r12 * u2)
            means[i, 2] += np.float32(r20 * u0 + r21 * u1 + r22 * u2)


def wander(
    means: torch.Tensor,
    quats: torch.Tensor,
    log_scales: torch.Tensor,
    logits: torch.Tensor,
    ids: torch.Tensor,
    seed: int,
    step: int,
    scale: float,
) -> None:
    """means [N, 3] += scale * sigmoid(-100 (opacity - 0.005)) * covariance @ normal, in place."""
    low, high = seed & 0xFFFFFFFF, ((seed >> 32) & 0xFFFFFFFF) ^ zlib.crc32(b"wander")
    arrays = [t.detach().numpy() for t in (means, quats, log_scales, logits, ids)]
    run(_wander, -(-len(ids) // BLOCK), *arrays, np.uint64(low), np.uint64(high), np.uint64(step), float(scale))
