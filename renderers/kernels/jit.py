"""The one way in which this project compiles: Numba kernels that release the GIL and are kept on disk between runs.

Kernels lie in the user's cache, `kernels/<fingerprint>`, never beside the source (site-packages may be read-only). The
fingerprint covers the text of every kernel source, because Numba itself only notices a change in the file that holds the
kernel, not in the helpers it calls.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import FunctionCache

from ...data.user_cache import cache_dir

# No nnan/ninf: kernels rely on comparisons with NaN being false. No reassoc: the order of sums is fixed by the source.
FASTMATH = {"contract", "nsz", "arcp"}
OPTIONS: dict[str, Any] = dict(nogil=True, error_model="numpy", boundscheck=False, fastmath=FASTMATH)


@functools.cache
def fingerprint() -> str:
    """Changes whenever a kernel source, or a helper that kernels inline, changes."""
    digest = hashlib.sha256(numba.__version__.encode())
    rooms = Path(__file__).resolve().parents[1]
    for path in sorted(rooms.rglob("*.py")):
        digest.update(path.relative_to(rooms).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _locked(folder: Path, patience: float = 20.0) -> Iterator[None]:
    """One writer at a time: two processes that save different specialisations would number their files alike.

    A lock file is enough on every platform; one left by a killed process is taken over after `patience` seconds.
    """
    lock = folder / "writing.lock"
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            with contextlib.suppress(OSError):
                if time.time() - lock.stat().st_mtime > patience:
                    lock.unlink()
            time.sleep(0.005)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()


class _DiskCache(FunctionCache):
    """Numba's own on-disk cache, with writers of several processes kept apart. A full or read-only disk costs only the
    saving."""

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError), _locked(Path(self.cache_path)):
            super().save_overload(sig, data)


_kernels: list[Any] = []


def compiled() -> tuple[int, int]:
    """How many specialisations this process has compiled, and how many it has loaded from the disk."""
    stats = [k.stats for k in _kernels]
    return sum(sum(s.cache_misses.values()) for s in stats), sum(sum(s.cache_hits.values()) for s in stats)


def kernel(function: Callable) -> Any:
    """Decorator: compile for the host on first call, without the GIL, with IEEE divisions, cached on disk."""
    dispatcher: Any = numba.njit(**OPTIONS)(function)
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        config.CACHE_DIR = str(cache_dir("kernels", fingerprint()))  # type: ignore[attr-defined]
        dispatcher._cache = _DiskCache(function)
    except (RuntimeError, OSError):  # nowhere to write: compile in memory
        pass
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]
    _kernels.append(dispatcher)
    return dispatcher


def inlined(function: Callable) -> Any:
    """Decorator for helpers that become part of the kernel that calls them."""
    return numba.njit(forceinline=True, **OPTIONS)(function)
