"""Adam (Kingma and Ba 2015) in one pass over memory, with a learning rate per column."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from . import pool
from .jit import kernel
from .simd import LANES, any_of, claim, load, muladd, put, select, store, vec
from .vecmath import vsqrt

f32 = np.float32
LARGEST = f32(np.finfo(np.float32).max)
BLOCK = 1 << 15  # numbers per block, about


@kernel
def _adam(counter, blocks, n, pattern, rates, beta1, beta2, eps, root, param, grad, m, v, broken):
    """n a multiple of LANES; rates [pattern] repeat, pattern a multiple of LANES and of the row. root: 1 / sqrt(1 - beta2^step).

    broken[block] becomes 1 if a number of the block is infinite or NaN now, by its gradient or before.
    """
    size = max(1, BLOCK // pattern) * pattern
    one = vec(1.0)
    keep, fresh = one - beta2, one - beta1
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        odd = vec(0.0)
        for start in range(block * size, min(n, (block + 1) * size), pattern):
            for k in range(start, min(n, start + pattern), LANES):
                g = load(grad, k)
                first = load(m, k)
                first = muladd(g - first, fresh, first)
                second = muladd(g * g, keep, load(v, k) * beta2)
                store(m, k, first)
                store(v, k, second)
                moved = load(param, k) - load(rates, k - start) * (first / (vsqrt(second) * root + eps))
                store(param, k, moved)
                odd = odd + select((moved >= -LARGEST) & (moved <= LARGEST), 0.0, 1.0)
        if any_of(odd > 0.0):
            put(broken, block, np.int8(1))


def adam_step(
    param: np.ndarray,
    grad: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    lr_row: Sequence[float] | np.ndarray,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-15,
    step: int = 1,
) -> bool:
    """One step of torch.optim.Adam (no weight decay, no AMSGrad) in place on param, m and v. False: a number
    of param is not finite now, which a gradient that is not finite makes it.

    param, grad, m, v   float32, contiguous, one shape whose size is a multiple of the row (views of torch tensors by
    .numpy())
    lr_row              learning rate of each column of a row, e.g. 3 for positions, 48 for spherical harmonics [16, 3]
    step                1 for the first step (bias correction)
    Bit-equal for any number of threads.
    """
    row, n = len(lr_row), param.size
    for name, a in (("param", param), ("grad", grad), ("m", m), ("v", v)):
        if a.dtype != np.float32 or not a.flags.c_contiguous or a.size != n:
            raise ValueError(f"{name} is {a.dtype} of size {a.size}, wanted contiguous float32 of size {n}")
    if row == 0 or n % row:
        raise ValueError(f"{n} numbers in rows of {row}: not whole rows")
    if step < 1:
        raise ValueError(f"step is {step}, wanted at least 1")
    pattern = math.lcm(row, LANES)
    while pattern < 256:
        pattern *= 2
    rates = np.tile(np.asarray(lr_row, np.float64) / (1 - beta1**step), pattern // row).astype(np.float32)
    numbers = (f32(beta1), f32(beta2), f32(eps), f32(1 / math.sqrt(1 - beta2**step)))
    flat = [a.reshape(-1) for a in (param, grad, m, v)]
    whole = n - n % LANES
    blocks = -(-whole // (max(1, BLOCK // pattern) * pattern))
    broken = np.zeros(blocks + 1, np.int8)  # the last for the tail
    pool.run(_adam, blocks, whole, pattern, rates, *numbers, *flat, broken)
    if whole < n:
        tail = [np.zeros(LANES, np.float32) for _ in flat]
        for short, a in zip(tail, flat, strict=True):
            short[: n - whole] = a[whole:]
        pool.run(_adam, 1, LANES, pattern, np.roll(rates, -(whole % pattern)), *numbers, *tail, broken[blocks:])
        for k in (0, 2, 3):
            flat[k][whole:] = tail[k][: n - whole]
    return not broken.any()
