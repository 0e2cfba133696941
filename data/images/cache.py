"""Decoded pixels within a byte budget, fetched ahead by background threads."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence

from ..scene import Pixels, View

Key = tuple[str, int, int]


class ImageCache:
    """A thread-safe least-recently-used cache of `View` pixels.

    budget   bytes that may be held; a picture larger than this is returned but not kept
    threads  background decoders; they are daemons, so a process ends without waiting for them
    What `get` returns never depends on what was cached. Pixels are shared: treat the arrays as read-only.
    """

    def __init__(self, budget: int, threads: int | None = None):
        self.budget = int(budget)
        self._held: OrderedDict[Key, Pixels] = OrderedDict()
        self._bytes = 0
        self._ahead: dict[Key, int] = {}  # fetched ahead, not yet asked for
        self._busy: set[Key] = set()
        self._wanted: deque[View] = deque()
        self._change = threading.Condition()
        self._count = threads if threads is not None else max(1, min(4, (os.cpu_count() or 2) // 2))
        self._workers: list[threading.Thread] = []

    @property
    def nbytes(self) -> int:
        return self._bytes

    def get(self, view: View) -> Pixels:
        """The pixels of a view, from memory or decoded now. Raises what `ImageSource.load` raises."""
        key = _key(view)
        with self._change:
            while key in self._busy:
                self._change.wait()
            self._ahead.pop(key, None)
            if key in self._held:
                self._held.move_to_end(key)
                self._change.notify_all()
                return self._held[key]
            self._busy.add(key)
        return self._load(view, key, ahead=False)

    def prefetch(self, views: Sequence[View]) -> None:
        """Views that will be asked for next, in order. Replaces what was announced before and has not begun."""
        with self._change:
            self._wanted = deque(views)
            self._change.notify_all()
            while len(self._workers) < self._count:
                worker = threading.Thread(target=self._work, name="sceneloom-images", daemon=True)
                self._workers.append(worker)
                worker.start()

    def _load(self, view: View, key: Key, ahead: bool) -> Pixels:
        try:
            pixels = view.image.load()
        except BaseException:
            with self._change:
                self._busy.discard(key)
                self._change.notify_all()
            raise
        with self._change:
            self._busy.discard(key)
            if pixels.nbytes <= self.budget:
                self._held[key] = pixels
                self._bytes += pixels.nbytes
                if ahead:
                    self._ahead[key] = pixels.nbytes
                while self._bytes > self.budget:
                    old, dropped = self._held.popitem(last=False)
                    self._bytes -= dropped.nbytes
                    self._ahead.pop(old, None)
            self._change.notify_all()
        return pixels

    def _next(self) -> tuple[View, Key]:
        """Wait for a view that is announced, not held, and finds room without pushing out what is still unused."""
        with self._change:
            while True:
                while self._wanted and (
                    (key := _key(self._wanted[0])) in self._held or key in self._busy or self.budget <= 0
                ):
                    self._wanted.popleft()
                if self._wanted and 2 * sum(self._ahead.values()) <= self.budget:
                    view = self._wanted.popleft()
                    key = _key(view)
                    self._busy.add(key)
                    return view, key
                self._change.wait()

    def _work(self) -> None:
        while True:
            view, key = self._next()
            try:
                self._load(view, key, ahead=True)
            except Exception:
                continue  # the one who asks for this view meets the same error, with a traceback of his own


def _key(view: View) -> Key:
    return view.name, view.camera.width, view.camera.height
