"""The computer: memory and instruction sets."""

from __future__ import annotations

import ctypes
import os
import sys

SETS = ("avx512f", "avx2", "fma", "avx", "sse4.2", "neon", "sve")


def memory() -> int | None:
    """Bytes of physical memory; None where the system does not tell."""
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def cpu() -> tuple[str, list[str]]:
    """The processor's name as the compiler knows it, and which of SETS it has."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    return binding.get_host_cpu_name(), [name for name in SETS if features.get(name)]


def _windows_memory() -> int | None:
    class Status(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong), ("total", ctypes.c_ulonglong)] + [
            (f"rest{i}", ctypes.c_ulonglong) for i in range(6)
        ]

    status = Status()
    status.length = ctypes.sizeof(Status)
    done = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return int(status.total) if done else None
