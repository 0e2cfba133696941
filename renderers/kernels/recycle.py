"""Large buffers that are used again: a training step allocates nothing once sizes have settled.

A buffer handed out by `take` is free again when nobody refers to it any more, be it a NumPy view, a torch tensor made
by `torch.from_numpy`, or the saved state of a forward pass: Python's own reference count decides, so two forwards
before their backwards, or a render in between, simply hold different buffers.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np

ALIGN = 64  # bytes: one cache line, one AVX-512 vector
_PATIENCE = 512  # takes after which an unused buffer is given back to the system
_probe = [np.empty(0)]
_FREE = sys.getrefcount(_probe[0])  # what getrefcount says of a buffer that only the bag refers to


class Recycler:
    """A bag of byte buffers, sorted by size class. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bag: dict[int, list[list[Any]]] = {}  # size -> [buffer, tick of last use, first aligned byte]
        self._tick = 0

    def take(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """An uninitialised, 64-byte aligned, C-contiguous array."""
        dtype = np.dtype(dtype)
        wanted = (math.prod(shape) if isinstance(shape, tuple) else int(shape)) * dtype.itemsize
        size = _rounded(wanted)
        with self._lock:
            self._tick += 1
            for entry in self._bag.get(size, ()):
                if sys.getrefcount(entry[0]) == _FREE:
                    break
            else:
                self._drop_old()
                raw = np.empty(size + ALIGN, np.uint8)
                entry = [raw, 0, -raw.ctypes.data % ALIGN]
                self._bag.setdefault(size, []).append(entry)
            entry[1] = self._tick
            return np.ndarray(shape, dtype, entry[0], entry[2])

    def _drop_old(self) -> None:
        old = self._tick - _PATIENCE
        for size, entries in list(self._bag.items()):
            kept = [entry for entry in entries if entry[1] > old or sys.getrefcount(entry[0]) > _FREE]
            if kept:
                self._bag[size] = kept
            else:
                del self._bag[size]

    def held(self) -> int:
        """Bytes in the bag, in use or not."""
        with self._lock:
            return sum(entry[0].size for entries in self._bag.values() for entry in entries)

    def clear(self) -> None:
        """Forget every buffer; those in use live on with their users."""
        with self._lock:
            self._bag = {}


def _rounded(size: int) -> int:
    """The next of eight steps per power of two, so that slowly growing sizes do not each cost a new buffer."""
    step = max(4096, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step


buffers = Recycler()
take = buffers.take
