"""Opens a run for work: threads, back end, compiled kernels, run folder, log. Everything that can fail early fails here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..renderers.splats.backends import Backend, choose
from .instantiate import instantiate
from .logs.logger import Logger, open_logger
from .run_folder import RunFolder
from .stages.state import State


@contextmanager
def session(config: dict[str, Any], folder: Path) -> Iterator[State]:
    """A State whose log is closed whatever happens; the log learns whether the work succeeded."""
    run = RunFolder(folder)
    backend = ready_backend(config)
    run.path.mkdir(parents=True, exist_ok=True)
    log = open_logger(config, run)
    try:
        log.line(f"back end: {backend.name} ({backend.reason})")
        warm_up(backend, log, absgrad=bool(config["strategy"].get("absgrad")))
        yield State(config, run, log, instantiate(config["model"], backend=backend))
    except BaseException as error:
        log.finish(error)
        raise
    log.finish(None)


def ready_backend(config: dict[str, Any]) -> Backend:
    """The back end of `backend=`, with `threads=` set. torch itself gets one thread: our kernels use the others, and no sum of
    torch's depends on how many there are."""
    import torch

    from ..renderers.kernels.pool import set_threads

    backend = choose(config["backend"])
    set_threads(config["threads"])
    if backend.name == "cpu":
        torch.set_num_threads(1)
    return backend


def warm_up(backend: Backend, log: Logger, absgrad: bool = False) -> None:
    """Compile, or load from the cache, every kernel before the clock of training runs."""
    if backend.name != "cpu":
        return
    from ..renderers.kernels.warmup import compile_all

    compile_all(log.compiling, absgrad=absgrad)
