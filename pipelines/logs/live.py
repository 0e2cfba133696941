"""Progress on a terminal: one live line that rich redraws four times a second from its own thread."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .pace import Pace, duration

REFRESH = 4  # times a second
WIDE = 125  # columns


class LiveProgress:
    """Appears with the first news, goes when there is nothing left to tell; lines of the log scroll above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._pace: Pace | None = None
        self._work: tuple[str, int, int, str] | None = None
        self._began = 0.0

    def working(self, stage: str, done: int, total: int, detail: str = "") -> None:
        if done >= total:
            self._work = None
            if self._pace is None:
                self._close()
            return
        if self._work is None or self._work[0] != stage:
            self._began = time.perf_counter()
        self._work = (stage, done, total, detail)
        self._open()

    def start(self, pace: Pace) -> None:
        self._pace, self._work = pace, None
        self._open()

    def stop(self) -> None:
        self._pace = self._work = None
        self._close()

    def _open(self) -> None:
        if self._live is None:
            live = self._live = Live(
                get_renderable=self._draw, console=self._console, refresh_per_second=REFRESH, transient=True
            )
            live.start(refresh=True)

    def _close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _draw(self) -> RenderableType:
        """Called by rich's thread; reads what the working thread stored last."""
        rows: list[RenderableType] = []
        if (work := self._work) is not None:
            stage, done, total, detail = work
            since = duration(time.perf_counter() - self._began)
            rows += self._rows(stage, done, total, [since, detail])
        if (pace := self._pace) is not None:
            rows += self._rows("training", pace.step, pace.steps, pace.parts())
        return Group(*rows)

    def _rows(self, name: str, done: int, total: int, parts: list[str]) -> list[RenderableType]:
        """Name, bar and count with the rest behind them, or below them on a narrow terminal."""
        wide = self._console.width >= WIDE
        rest = Text("  ".join(p for p in parts if p), no_wrap=True, overflow="ellipsis")
        row = Table.grid(padding=(0, 1))
        cells = [
            Text(name, style="bold"),
            ProgressBar(total=max(1, total), completed=done, width=24),
            Text(f"{done}/{total}"),
        ]
        row.add_row(*cells, *([rest] if wide else []))
        return [row] if wide else [row, rest]
