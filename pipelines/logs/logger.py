"""What a run says, fanned out: the console, log.txt with the time, metrics.jsonl (the truth), and W&B (a copy)."""

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ...data.errors import InputError
from .metrics import MetricsFile
from .pace import Pace
from .plain import PlainProgress
from .wandb_run import Wandb, WandbOptions, resolved_mode

if TYPE_CHECKING:
    from ..run_folder import RunFolder
    from .live import LiveProgress

KERNELS = "compiling kernels"
TICK = 0.1  # seconds between looks at plain progress during training


def open_logger(config: dict[str, Any], run: RunFolder) -> Logger:
    """The log of a run, appended to what the folder holds. InputError: a bad `log.*` value, an unwritable folder."""
    options = WandbOptions.of(config["log"])
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        text = (run.path / "log.txt").open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(
            f"cannot write into {run.path}: {error.strerror or error} (out= sets the run folder)"
        ) from error
    log = Logger(run, text)
    mode, note = resolved_mode(options)
    if note:
        log.line(note)
    if mode != "disabled":
        log.open_wandb = lambda: Wandb(options, mode, run.path, config, log.warn)
    return log


class Logger:
    """Methods may be called from any thread. Progress is a live line on a terminal; as plain lines, sparingly, it goes
    to log.txt and, where there is no terminal, to the console."""

    def __init__(self, run: RunFolder, text: TextIO) -> None:
        self.wandb: Wandb | None = None
        self.open_wandb: Callable[[], Wandb] | None = (
            None  # called when training starts: a run that never does is not one
        )
        self._run, self._text = run, text
        self._metrics = MetricsFile(run.metrics_rows)
        self._lock = threading.Lock()
        self._live, self._console = _terminal()
        self._plain = PlainProgress(self._sparingly)
        self._pace: Pace | None = None
        self._look = 0.0

    def line(self, text: str) -> None:
        """A line for the console and log.txt."""
        self._write(text)
        self._say(text)

    def warn(self, text: str) -> None:
        self._write(f"warning: {text}")
        self._say(f"warning: {text}", style="yellow")

    def working(self, stage: str, done: int, total: int) -> None:
        """A long job before training: `done` of `total` parts of `stage` are ready."""
        self._work(stage, done, total)

    def compiling(self, done: int, total: int, name: str) -> None:
        """Kernels compile, or load from the cache; `name` is the next one."""
        self._work(KERNELS, done, total, name)

    def start(self, step: int, steps: int) -> None:
        """Training begins after `step` and is to reach `steps`."""
        if self.wandb is None and self.open_wandb is not None:
            self.wandb = self.open_wandb()
        self._pace = Pace(step, steps)
        self._plain.start(self._pace)
        if self._live:
            self._live.start(self._pace)

    def progress(self, row: dict[str, Any]) -> None:
        """Called at every step: stores the row, and now and then looks whether a line is due."""
        pace = self._pace
        if pace is None:
            return
        pace.update(row)
        now = time.perf_counter()
        if now >= self._look or "test/psnr" in row or pace.step >= pace.steps:
            self._look = now + TICK
            self._plain.progress(row)

    def stop(self) -> None:
        """Training has ended, whatever the reason."""
        self._pace = None
        self._plain.stop()
        if self._live:
            self._live.stop()

    def row(self, row: dict[str, Any]) -> None:
        """One row of metrics.jsonl. InputError when it cannot be written."""
        self._metrics.row(row)
        if self.wandb:
            self.wandb.row(row)

    def truncate_after(self, step: int) -> None:
        """Training goes on after `step`: later rows of metrics.jsonl go."""
        self._metrics.truncate_after(step)

    def image(self, name: str, path: Path, step: int) -> None:
        """A picture for W&B; it already lies in the run folder."""
        if self.wandb:
            self.wandb.image(name, path, step)

    def finish(self, error: BaseException | None = None) -> None:
        """Close everything; the run is marked finished, or failed with `error`. Never raises; once is enough."""
        if self._text.closed:
            return
        try:
            self.stop()
            self._metrics.close()
            if error is not None:
                self._write(_told(error))
            wandb, self.wandb = self.wandb, None
            if wandb:
                wandb.finish(error is not None, self._final_metrics() if error is None else None, self.line)
            if error is None:
                self._write("finished")
        except Exception as problem:
            self._say(f"warning: the log could not be closed: {problem}")
        finally:
            self._text.close()

    def _work(self, stage: str, done: int, total: int, detail: str = "") -> None:
        self._plain.working(stage, done, total, detail)
        if self._live:
            self._live.working(stage, done, total, detail)

    def _sparingly(self, text: str) -> None:
        self._write(text)
        if not self._live:
            self._say(text)

    def _write(self, text: str) -> None:
        try:
            with self._lock:
                self._text.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}\n")
                self._text.flush()
        except (OSError, ValueError):
            pass  # a full disk is told by the files that matter

    def _say(self, text: str, style: str | None = None) -> None:
        try:
            if self._console is not None:
                self._console.print(text, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)
            else:
                encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
                print(text.encode(encoding, "replace").decode(encoding), flush=True)
        except (OSError, ValueError):
            pass  # whoever read our output has gone; log.txt has it

    def _final_metrics(self) -> dict[str, Any] | None:
        try:
            return json.loads(self._run.metrics.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None


def _terminal() -> tuple[LiveProgress | None, Any]:
    """Live progress and rich's console if stdout is a terminal that can move its cursor; else no import of rich."""
    if not (sys.stdout and sys.stdout.isatty()):
        return None, None
    from rich.console import Console

    from .live import LiveProgress

    console = Console()
    return (None, None) if console.is_dumb_terminal else (LiveProgress(console), console)


def _told(error: BaseException) -> str:
    """One line for what the user can mend or did, the whole traceback for the rest."""
    if isinstance(error, KeyboardInterrupt):
        return f"interrupted: {error}" if str(error) else "interrupted"
    if isinstance(error, InputError):
        return f"failed: {error}"
    return "failed: " + "".join(traceback.format_exception(error)).rstrip()
