"""Threads for kernels: every thread calls the same kernel, which claims numbered blocks from a shared counter until
none is left.

A kernel's first two arguments are `(counter, blocks)`; see `claim` in simd.py. Which thread runs a block is left to
chance, so a block may only write what belongs to it: then results do not depend on the number of threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

_lock = threading.Lock()
_threads: int | None = None
_workers: ThreadPoolExecutor | None = None


def physical_cores() -> int:
    """Physical cores that this process may use (affinity and container quota respected), at least 1."""
    try:
        allowed = os.sched_getaffinity(0)  # type: ignore[attr-defined]
    except AttributeError:
        allowed = set(range(os.cpu_count() or 1))
    count = len(allowed)
    if sys.platform == "linux":
        siblings = set()
        for cpu in allowed:
            path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
            siblings.add(path.read_text() if path.exists() else str(cpu))
        count = len(siblings)
        quota = Path("/sys/fs/cgroup/cpu.max")
        if quota.exists():
            limit, period = [*quota.read_text().split(), "100000"][:2]
            if limit != "max":
                count = min(count, max(1, round(int(limit) / int(period))))
    elif sys.platform == "darwin":
        answer = subprocess.run(["sysctl", "-n", "hw.physicalcpu"], capture_output=True, text=True, check=False).stdout
        count = min(count, int(answer) if answer.strip().isdigit() else count)
    return max(1, count)


def set_threads(n: int | None) -> None:
    """Use n threads from now on; None means all physical cores. Results do not depend on it."""
    global _threads, _workers
    if n is not None and n < 1:
        raise ValueError(f"threads is {n}, wanted at least 1")
    with _lock:
        if _workers is not None:
            _workers.shutdown(wait=False)
        _threads, _workers = n, None


def threads() -> int:
    """How many threads kernels use."""
    global _threads
    if _threads is None:
        _threads = physical_cores()
    return _threads


def _executor(n: int) -> ThreadPoolExecutor:
    global _workers
    with _lock:
        if _workers is None:
            _workers = ThreadPoolExecutor(n, thread_name_prefix="sceneloom-kernel")
        return _workers


def run(kernel: Any, blocks: int, *args: Any) -> None:
    """Call `kernel(counter, blocks, *args)` from as many threads as are of use, and wait for all of them."""
    if blocks <= 0:
        return
    counter = np.zeros(1, np.int64)
    helpers = min(threads(), blocks) - 1
    if helpers == 0:
        kernel(counter, blocks, *args)
        return
    pool = _executor(threads() - 1)
    pending = [pool.submit(kernel, counter, blocks, *args) for _ in range(helpers)]
    try:
        kernel(counter, blocks, *args)
    finally:
        for job in pending:
            job.result()


def _after_fork() -> None:
    """A forked child has none of its parent's threads: start anew."""
    global _workers, _lock
    _workers, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
