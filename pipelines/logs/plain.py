"""Progress as plain lines, few enough for a log file: at the start, every so often, and at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .pace import Pace

EVERY_WORK = 10.0  # seconds between lines about SfM, the demo capture, compilation
EVERY_TRAINING = 15.0  # seconds between lines about training, unless another tenth of the steps is done
SHARE = 10


class PlainProgress:
    """Says progress through `say(text)`. `clock` is seconds, monotonic."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.perf_counter) -> None:
        self._say, self._clock = say, clock
        self._work: dict[str, _Work] = {}
        self._pace: Pace | None = None
        self._due = 0.0
        self._due_step = 0

    def working(self, stage: str, done: int, total: int, detail: str = "") -> None:
        now = self._clock()
        work = self._work.get(stage)
        if work is None or done < work.done:  # done counts up: fewer than before is another go
            work = self._work[stage] = _Work(now)
            if done < total:
                work.due = now + EVERY_WORK
                self._say(_count(stage, done, total) + (f" ({detail})" if detail else ""))
        elif done < total and now >= work.due:
            work.due = now + EVERY_WORK
            self._say(_count(stage, done, total) + (f" ({detail})" if detail else ""))
        if done >= total and not work.told:
            work.told = True
            self._say(f"{_count(stage, done, total)}, {now - work.began:.1f} s")
        work.done = done

    def start(self, pace: Pace) -> None:
        self._pace = pace
        self._due, self._due_step = self._clock() + EVERY_TRAINING, self._next_share(pace.step)
        self._say(f"training: step {pace.step} of {pace.steps}")

    def progress(self, row: dict[str, Any]) -> None:
        """After pace.update(row)."""
        pace = self._pace
        if pace is None:
            return
        step = pace.step
        if step < self._due_step and "test/psnr" not in row and self._clock() < self._due:
            return
        self._due, self._due_step = self._clock() + EVERY_TRAINING, self._next_share(step)
        self._say(f"step {step}/{pace.steps}: " + ", ".join(pace.parts()))

    def stop(self) -> None:
        self._pace = None

    def _next_share(self, step: int) -> int:
        assert self._pace is not None
        share = max(1, -(-self._pace.steps // SHARE))
        return (step // share + 1) * share


class _Work:
    def __init__(self, began: float) -> None:
        self.began, self.due, self.done, self.told = began, began, 0, False


def _count(stage: str, done: int, total: int) -> str:
    return f"{stage}: {done}/{total}" if total > 1 else f"{stage}{'' if done < total else ': done'}"
