"""The cache returns what the source returns, stays within its bytes, and never holds up the process."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sceneloom.data.images.cache import ImageCache
from sceneloom.data.scene import Camera, Pixels, View


class Counting:
    """Pixels of a constant colour; counts how often they were decoded."""

    def __init__(self, value: int, size: int = 10):
        self.value, self.size, self.loads = value, size, 0
        self.lock = threading.Lock()

    def load(self) -> Pixels:
        with self.lock:
            self.loads += 1
        return Pixels(np.full((self.size, self.size, 3), self.value, np.uint8))


def views(count: int, size: int = 10) -> list[View]:
    return [View(f"{i}", Camera(np.eye(3), size, size, np.eye(4)), Counting(i, size)) for i in range(count)]


def wait_for(condition) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def loads(some: list[View]) -> list[int]:
    return [v.image.loads for v in some]  # pyright: ignore[reportAttributeAccessIssue]


def test_least_recently_used_goes_first():
    cache, some = ImageCache(900), views(4)  # three pictures of 300 bytes fit
    for i in (0, 1, 2, 0, 3, 0, 1):
        assert cache.get(some[i]).rgb[0, 0, 0] == i
        assert cache.nbytes <= 900
    assert loads(some) == [1, 2, 1, 1]


def test_prefetch_loads_each_once_and_keeps_room_for_the_unused():
    cache, some = ImageCache(3000), views(40)
    cache.prefetch(some)
    wait_for(lambda: cache.nbytes >= 1500)
    time.sleep(0.05)
    assert sum(loads(some)) <= 9  # half the budget, and what each thread had begun
    for v in some:
        assert cache.get(v).rgb[0, 0, 0] == int(v.name)
    assert loads(some) == [1] * 40


def test_threads_that_ask_for_one_picture_share_one_decode():
    cache, (view,) = ImageCache(10_000), views(1)
    got: list[Pixels] = []
    threads = [threading.Thread(target=lambda: got.append(cache.get(view))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert loads([view]) == [1]
    assert all(g is got[0] for g in got)


def test_too_large_or_no_budget_still_works():
    for budget in (0, 100):
        cache, some = ImageCache(budget), views(2)
        cache.prefetch(some)
        assert cache.get(some[1]).rgb[0, 0, 0] == 1
        assert cache.nbytes == 0


def test_errors_reach_the_one_who_asks():
    class Broken:
        def load(self) -> Pixels:
            raise RuntimeError("damaged")

    view = View("x", Camera(np.eye(3), 1, 1, np.eye(4)), Broken())
    cache = ImageCache(1000)
    cache.prefetch([view])
    for _ in range(2):
        with pytest.raises(RuntimeError, match="damaged"):
            cache.get(view)


def test_process_ends_while_decoding():
    code = (
        "import time, numpy as np\n"
        "from sceneloom.data.images.cache import ImageCache\n"
        "from sceneloom.data.scene import Camera, View\n"
        "class Slow:\n"
        "    def load(self): time.sleep(60)\n"
        "c = ImageCache(10**6)\n"
        "c.prefetch([View('a', Camera(np.eye(3), 1, 1, np.eye(4)), Slow())] * 3)\n"
        "time.sleep(0.2)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
