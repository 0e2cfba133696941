"""Ctrl-C and SIGTERM end training after the current step instead of in the middle of it."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Interrupt:
    """Context: `.wanted` turns True at the first signal; a second Ctrl-C interrupts at once. Does nothing outside the main thread."""

    def __init__(self) -> None:
        self.wanted = False
        self.signal = 0
        self._old: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.wanted and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.wanted = True
        self.signal = number
