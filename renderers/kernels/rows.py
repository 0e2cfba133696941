"""Row kernels: LANES rows of [n, ...] arrays at a time, with the odd rows at the end done on padded copies."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from . import pool
from .simd import LANES


def run_rows(
    kernel: Any,
    n: int,
    per_block: int,
    args: list[Any],
    rows: Collection[int],
    written: Collection[int],
    blocks_at: int = -1,
) -> None:
    """Call `kernel(counter, blocks, n, *args)` over n rows.

    rows       positions in args of arrays with n rows; the others are passed as they are
    written    those of `rows` that the kernel writes
    blocks_at  position of an array with one row per block (block_count(n, per_block) rows), or -1
    """
    whole = n - n % LANES
    blocks = -(-whole // per_block)
    pool.run(kernel, blocks, whole, *args)
    if whole == n:
        return
    tail = list(args)
    for k in rows:
        tail[k] = np.zeros((LANES, *args[k].shape[1:]), args[k].dtype)
        tail[k][: n - whole] = args[k][whole:]
    if blocks_at >= 0:
        tail[blocks_at] = args[blocks_at][blocks:]
    pool.run(kernel, 1, LANES, *tail)
    for k in written:
        args[k][whole:] = tail[k][: n - whole]


def block_count(n: int, per_block: int) -> int:
    """How many blocks run_rows makes of n rows."""
    return -(-(n - n % LANES) // per_block) + (n % LANES > 0)
