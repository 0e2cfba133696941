"""How training stands: what a live line or a plain line says about it. Updated at every step, so it only stores."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

WINDOW = 10.0  # seconds of training over which speed is measured


class Pace:
    """update(row) costs about a microsecond; the properties are worked out only when something is shown."""

    def __init__(self, step: int, steps: int) -> None:
        self.first, self.step, self.steps = step, step, steps
        self.loss: float | None = None
        self.psnr: float | None = None
        self.gaussians: int | None = None
        self._marks: deque[tuple[float, int]] = deque()
        self._next_mark = 0.0

    def update(self, row: dict[str, Any]) -> None:
        """Take what a row of metrics holds. The loss jumps from photo to photo: its running mean is shown."""
        self.step = row.get("step", self.step)
        loss = row.get("train/loss")
        if loss is not None:
            self.loss = loss if self.loss is None else self.loss + 0.05 * (loss - self.loss)
        if "test/psnr" in row:
            self.psnr = row["test/psnr"]
        self.gaussians = row.get("gaussians", self.gaussians)
        seconds = row.get("seconds")
        if seconds is None:
            seconds = time.perf_counter()
        if seconds >= self._next_mark or not self._marks:
            self._marks.append((seconds, self.step))
            self._next_mark = seconds + 0.5
            while seconds - self._marks[0][0] > WINDOW and len(self._marks) > 2:
                self._marks.popleft()

    @property
    def per_second(self) -> float | None:
        """Steps a second of training time (evaluations and checkpoints do not count), None before the second mark."""
        marks = list(self._marks)
        if len(marks) < 2 or marks[-1][0] <= marks[0][0]:
            return None
        return (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0])

    @property
    def seconds_left(self) -> float | None:
        speed = self.per_second
        return (self.steps - self.step) / speed if speed else None

    def parts(self) -> list[str]:
        """`loss 0.0312`, `PSNR 25.10 dB`, ... as far as they are known."""
        parts = []
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4f}")
        if self.psnr is not None:
            parts.append(f"PSNR {self.psnr:.2f} dB")
        if self.gaussians is not None:
            parts.append(f"{self.gaussians:,} Gaussians")
        if (speed := self.per_second) is not None:
            parts.append(f"{speed:.1f} it/s")
        if (left := self.seconds_left) is not None:
            parts.append(f"{duration(left)} left")
        return parts


def duration(seconds: float) -> str:
    """0:07, 12:34, 1:02:03."""
    whole = round(max(0.0, seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
