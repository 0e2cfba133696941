"""Large buffers that are used again: a training step allocates nothing once sizes have settled.

A buffer handed out by `take` is free again when nobody refers to it any more, be it a NumPy view, a torch tensor made
by `torch.from_numpy`, or the saved state of a forward pass: Python's own reference count decides, so two forwards
before their backwards, or a render in between, simply hold different buffers.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

ALIGN = 64  # bytes: one cache line, one AVX-512 vector
_PATIENCE = 512  # takes after which an unused buffer is given back to the system
_probe = [np.empty(0)]
_FREE = sys.getrefcount(_probe[0])  # what getrefcount says of a buffer that only the bag refers to


class Recycler:
    """A bag of byte buffers. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bag: list[list[Any]] = []  # [buffer, tick of last use, first aligned byte]
        self._tick = 0

    def take(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """An uninitialised, 64-byte aligned, C-contiguous array."""
        dtype = np.dtype(dtype)
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        count = 1
        for size in shape:
            count *= int(size)
        wanted = count * dtype.itemsize
        with self._lock:
            self._tick += 1
            best = None
            for entry in self._bag:
                size = entry[0].size - ALIGN
                fits = wanted <= size <= 2 * wanted + 65536 and (best is None or size < best[0].size - ALIGN)
                if fits and sys.getrefcount(entry[0]) == _FREE:
                    best = entry
            if best is None:
                raw = np.empty(_rounded(wanted) + ALIGN, np.uint8)
                best = [raw, 0, -raw.ctypes.data % ALIGN]
                old = self._tick - _PATIENCE
                self._bag = [entry for entry in self._bag if entry[1] > old or sys.getrefcount(entry[0]) > _FREE]
                self._bag.append(best)
            best[1] = self._tick
            raw, _, start = best
            return raw[start : start + wanted].view(dtype).reshape(shape)

    def held(self) -> int:
        """Bytes in the bag, in use or not."""
        with self._lock:
            return sum(entry[0].size for entry in self._bag)

    def clear(self) -> None:
        """Forget every buffer; those in use live on with their users."""
        with self._lock:
            self._bag = []


def _rounded(size: int) -> int:
    """The next of eight steps per power of two, so that slowly growing sizes do not each cost a new buffer."""
    step = max(4096, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step


buffers = Recycler()
take = buffers.take
