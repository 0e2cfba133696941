"""Cache folder, thread pool, recycled buffers, odd rows."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from sceneloom.renderers.kernels import jit, pool
from sceneloom.renderers.kernels.recycle import ALIGN, Recycler
from sceneloom.renderers.kernels.rows import block_count, run_rows
from sceneloom.renderers.kernels.simd import LANES

COMPILE = """
import numpy as np
from sceneloom.renderers.kernels import jit
from sceneloom.renderers.kernels.adam import adam_step
a = [np.ones(40, np.float32) for _ in range(4)]
adam_step(*a, [0.1])
print(*jit.compiled(), float(a[0].sum()))
"""


def child(cache: Path, code: str = COMPILE) -> subprocess.Popen:
    import sceneloom

    root = Path(next(iter(sceneloom.__path__))).parent
    paths = os.pathsep.join([str(root), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "SCENELOOM_CACHE": str(cache), "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen) -> list[float]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return [float(word) for word in out.split()]


def test_two_processes_share_a_cold_cache_and_the_third_compiles_nothing(tmp_path: Path) -> None:
    first, second = (answer(p) for p in [child(tmp_path), child(tmp_path)])
    assert first[2] == second[2]
    third = answer(child(tmp_path))
    assert third == [0, 1, first[2]]
    assert list((tmp_path / "kernels" / jit.fingerprint()).rglob("*.nbc"))
    assert not list(tmp_path.rglob("*.lock"))


def test_a_folder_that_cannot_be_written_costs_only_the_cache(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert answer(child(blocked))[:2] == [1, 0] or answer(child(blocked))[2] > 0


def _blocks(counter: np.ndarray, blocks: int, seen: list) -> None:
    while True:
        with _blocks_lock:
            block = int(counter[0])
            counter[0] += 1
        if block >= blocks:
            return
        seen.append((block, threading.current_thread().name))


_blocks_lock = threading.Lock()


@pytest.fixture
def threads():
    before = pool.threads()
    yield
    pool.set_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_block_is_done_once(n: int) -> None:
    pool.set_threads(n)
    seen: list = []
    pool.run(_blocks, 50, seen)
    assert sorted(block for block, _ in seen) == list(range(50))
    assert len({name for _, name in seen}) <= n


@pytest.mark.usefixtures("threads")
def test_errors_of_any_thread_arrive() -> None:
    pool.set_threads(3)

    def fails(counter: np.ndarray, blocks: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("a worker failed")

    with pytest.raises(RuntimeError, match="a worker failed"):
        pool.run(fails, 3)
    with pytest.raises(ValueError, match="threads is 0"):
        pool.set_threads(0)
    assert pool.physical_cores() >= 1


def _in_child(queue) -> None:
    seen: list = []
    pool.run(_blocks, 20, seen)
    queue.put(len(seen))


@pytest.mark.usefixtures("threads")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_makes_its_own_threads() -> None:
    pool.set_threads(3)
    seen: list = []
    pool.run(_blocks, 20, seen)  # the parent has threads now
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_in_child, args=(queue,))
    process.start()
    assert queue.get(timeout=30) == 20
    process.join(30)


def test_buffers_come_back_only_when_nobody_uses_them() -> None:
    bag = Recycler()
    one = bag.take((100, 10))
    address = one.ctypes.data
    assert address % ALIGN == 0
    tensor = torch.from_numpy(one)
    view = tensor[5:]
    del one, tensor
    two = bag.take(1000)
    assert two.ctypes.data != address  # a view of a tensor still uses the first
    del view
    three = bag.take(990)
    assert three.ctypes.data == address
    assert bag.take(0).shape == (0,)


def test_steady_use_allocates_nothing() -> None:
    bag = Recycler()
    sizes = []
    for n in (1000, 1010, 1020, 1001):
        held = [bag.take((n, 4)), bag.take(n, np.int32)]
        sizes.append(bag.held())
        del held
    assert len(set(sizes)) == 1


def _double(
    counter: np.ndarray, blocks: int, n: int, factor: float, source: np.ndarray, out: np.ndarray, shares: np.ndarray
) -> None:
    assert n % LANES == 0
    block = int(counter[0])
    counter[0] += 1
    if block < blocks:
        rows = slice(block * 2 * LANES, min(n, (block + 1) * 2 * LANES))
        out[rows] = factor * source[rows]
        shares[block] = source[rows].sum()
        _double(counter, blocks, n, factor, source, out, shares)


@pytest.mark.parametrize("n", [0, 1, LANES - 1, LANES, 5 * LANES + 3])
def test_odd_rows(n: int) -> None:
    source, out = np.arange(3 * n, dtype=np.float32).reshape(n, 3), np.zeros((n, 3), np.float32)
    shares = np.zeros(block_count(n, 2 * LANES))
    run_rows(_double, n, 2 * LANES, [2.0, source, out, shares], rows=[1, 2], written=[2], blocks_at=3)
    np.testing.assert_array_equal(out, 2 * source)
    assert shares.sum() == source.sum()
