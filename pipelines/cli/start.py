"""What happens between Hydra's composed config and a verb: settings checked, run folder claimed, the verb called, failures told."""

from __future__ import annotations

import shutil
import sys
import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from ...data.errors import InputError
from .resolvers import claim
from .suggest import CONFIG_ERRORS, exit_code, explained, one_line, told
from .validate import checked
from .words import parts

TRIFLES = frozenset({".hydra", "config.yaml", "log.txt"})  # a folder that holds nothing else holds no work


class Refused(SystemExit):
    """Ends the command with one line on stderr. Not an Exception, so that Hydra lets it pass."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(exit_code(error))
        self.error = error


@dataclass(frozen=True)
class Job:
    """How one job of a sweep ended: error is None for success."""

    number: str
    settings: str
    seconds: float
    folder: str
    error: BaseException | None = None


@dataclass
class Command:
    """What the callback, the task and `main` tell each other within one command of this process."""

    ready: DictConfig | None = None
    made: Path | None = None
    notes: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()


now = Command()


class Start(Callback):
    """Runs before Hydra makes any folder."""

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        try:
            now.ready = check(config)
            now.made = _make(config, "hydra.run.dir")
        except InputError as error:
            raise Refused(error) from error

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        try:
            _make(config, "hydra.sweep.dir")
        except InputError as error:
            raise Refused(error) from error


def typed(hydra: DictConfig) -> list[str]:
    """The overrides of this job as they were written (iterating over them would resolve their interpolations)."""
    return cast("list[str]", OmegaConf.to_container(hydra.overrides.task, resolve=False))


def check(config: DictConfig) -> DictConfig:
    """The task's config (Hydra's own node may still be in it) with resolved values, right types, absolute paths."""
    hydra = cast("DictConfig", config.hydra if "hydra" in config else HydraConfig.get())
    groups = [o for o in typed(hydra) if parts(o)[1].split("@")[0] in hydra.runtime.choices]
    loader = GlobalHydra.instance().config_loader()
    try:
        defaults = loader.load_configuration(hydra.job.config_name, groups, RunMode.RUN)
    except CONFIG_ERRORS as error:
        raise InputError(explained(error, groups)) from error
    return checked(config, defaults, hydra.runtime.cwd, tuple(config.verb.get("paths") or ()))


def run(cfg: DictConfig) -> Any:
    """The task that Hydra runs: once, or once for each job of a sweep."""
    hydra = cast("DictConfig", HydraConfig.get())
    if hydra.mode == RunMode.MULTIRUN:
        return _job(cfg, hydra)
    ready, now.ready = now.ready, None
    try:
        return _call(ready if ready is not None else check(cfg), hydra)
    except Exception as error:
        if (known := told(error)) is None:
            raise
        _tidy(now.made)
        raise Refused(known) from error


def _call(cfg: DictConfig, hydra: DictConfig) -> Any:
    if hydra.output_subdir is not None:  # a verb with a run folder of its own
        cfg.out = hydra.runtime.output_dir
    for note in now.notes:
        print(note)
    module, _, function = str(cfg.verb._target_).rpartition(".")
    return getattr(import_module(module), function)(cfg)


def _job(cfg: DictConfig, hydra: DictConfig) -> Any:
    """One job of a sweep: the others go on if it fails."""
    settings = " ".join(o for o in typed(hydra) if parts(o)[1] != "verb")
    number, folder, started = str(hydra.job.num), hydra.runtime.output_dir, time.monotonic()
    print(f"\njob {number}: {settings or '(defaults)'} -> {folder}", flush=True)

    def ended(error: BaseException | None) -> None:
        now.jobs += (Job(number, settings, time.monotonic() - started, folder, error),)

    try:
        result = _call(check(cfg), hydra)
    except Exception as error:
        if (known := told(error)) is None:
            traceback.print_exc()
        else:
            print(f"error: {one_line(known)}", file=sys.stderr)
        ended(error)
        if not _plain_loop(hydra):  # another process or a sweeper with an aim has to learn of it from Hydra
            raise
        return None
    except KeyboardInterrupt as stop:
        ended(stop)
        raise
    ended(None)
    return result


def _plain_loop(hydra: DictConfig) -> bool:
    return all(
        str(hydra[part]._target_).endswith((".BasicLauncher", ".BasicSweeper")) for part in ("launcher", "sweeper")
    )


def summary(jobs: tuple[Job, ...]) -> str:
    """A table of a sweep's jobs, the failed ones with their reason."""
    rows = [("job", "status", "seconds", "settings")]
    for job in jobs:
        status = "ok" if job.error is None else "stopped" if isinstance(job.error, KeyboardInterrupt) else "FAILED"
        why = "" if job.error is None else f"  ({one_line(job.error)})"
        rows.append((job.number, status, f"{job.seconds:.1f}", job.settings + why))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(f"{a:>{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip() for a, b, c, d in rows)


def _make(config: DictConfig, key: str) -> Path | None:
    """Make the run or sweep folder now; the folder if it is new, None if it was there."""
    try:
        if folder := claim(config, key):
            return folder
        folder = Path(str(OmegaConf.select(config, key)))
        if folder.is_dir():
            return None
        folder.mkdir(parents=True)
        return folder
    except OSError as error:
        place = OmegaConf.select(config, key)
        raise InputError(
            f"cannot make the folder {place}: {error.strerror or error}; set out= to one that can be written"
        ) from error


def _tidy(folder: Path | None) -> None:
    """Remove a new run folder in which no work was kept, and its parent if that is empty then."""
    if folder is None or not folder.is_dir() or any(p.name not in TRIFLES for p in folder.iterdir()):
        return
    shutil.rmtree(folder, ignore_errors=True)
    if folder.parent.is_dir() and not any(folder.parent.iterdir()):
        folder.parent.rmdir()
