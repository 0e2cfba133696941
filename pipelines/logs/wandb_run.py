"""Weights & Biases as a copy of metrics.jsonl. If it is absent, offline or broken, the run goes on.

Everything of wandb (its import too, a second by itself) happens in one thread of its own, fed by a queue. The first
thing that goes wrong is said once and ends the copy. Offline segments of a run share an id: `wandb sync` joins them.
"""

from __future__ import annotations

import contextlib
import netrc
import os
import queue
import shlex
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from ...data.errors import InputError

MODES = ("auto", "online", "offline", "disabled")
INIT_SECONDS = 15.0  # to reach the server, before the run goes offline
UPLOAD_SECONDS = 60.0  # to upload what is left at the end, before the rest is left to `wandb sync`
WAIT_SECONDS = INIT_SECONDS + UPLOAD_SECONDS + 15.0  # for the thread at the end
ID_FILE = "wandb_id.txt"


@dataclass(frozen=True)
class WandbOptions:
    """The `log` node of the config, as far as it is about W&B."""

    mode: str = "auto"
    project: str = "sceneloom"
    group: str | None = None
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"log.wandb={self.mode}: want one of {', '.join(MODES)}")

    @staticmethod
    def of(node: dict[str, Any]) -> WandbOptions:
        mode = str(node.get("wandb") or "disabled")
        return WandbOptions(mode, node.get("project") or "sceneloom", node.get("group"), tuple(node.get("tags") or ()))


def has_key() -> bool:
    """Whether a key is at hand: $WANDB_API_KEY, or an entry for the server in the netrc file."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname or ""
    places = [Path(p) for p in (os.environ.get("NETRC"),) if p] or [Path.home() / ".netrc", Path.home() / "_netrc"]
    for place in places:
        with contextlib.suppress(OSError, netrc.NetrcParseError):
            if host in netrc.netrc(place).hosts:
                return True
    return False


def resolved_mode(options: WandbOptions) -> tuple[str, str | None]:
    """online, offline or disabled for this machine, and a line about it if the user would not expect it."""
    if options.mode == "disabled":
        return "disabled", None
    if options.mode == "auto" and (wish := os.environ.get("WANDB_MODE")) in ("offline", "disabled"):
        return wish, None
    if find_spec("wandb") is None:
        return "disabled", "W&B: the package is not installed (pip install wandb); metrics.jsonl has everything"
    if options.mode == "offline" or has_key():
        return "offline" if options.mode == "offline" else "online", None
    if options.mode == "online":
        return "offline", "W&B: no key found (wandb login, or WANDB_API_KEY); this run is kept offline"
    return "offline", None


class Wandb:
    """One run of W&B in its own thread. Every method returns at once, `finish` after at most a minute and a half."""

    def __init__(
        self, options: WandbOptions, mode: str, folder: Path, config: dict[str, Any], warn: Callable[[str], None]
    ) -> None:
        self._options, self._mode, self._folder, self._config, self._warn = options, mode, folder, config, warn
        self._jobs: queue.SimpleQueue[Callable[[Any], None] | None] = queue.SimpleQueue()
        self._broken = False
        self._thread = threading.Thread(target=self._work, name="wandb", daemon=True)
        self._thread.start()

    def row(self, row: dict[str, Any]) -> None:
        self._put(lambda run: run.log({k: v for k, v in row.items() if v is not None}))

    def image(self, name: str, path: Path, step: int) -> None:
        def send(run: Any) -> None:
            import wandb

            run.log({name: wandb.Image(str(path), caption=f"{path.stem}, step {step}"), "step": step})

        self._put(send)

    def finish(self, failed: bool, metrics: dict[str, Any] | None, say: Callable[[str], None]) -> None:
        """Send the final table, mark the run finished or failed, and wait for both, but not for ever."""
        if metrics is not None:
            self._put(lambda run: _send_final(run, metrics))
        self._put(lambda run: run.finish(exit_code=int(failed)))
        self._jobs.put(None)
        self._thread.join(WAIT_SECONDS)
        if self._thread.is_alive():
            self._give_up(f"it did not end within {WAIT_SECONDS:.0f} s")
        if segments := unsent_segments(self._folder):
            paths = " ".join(shlex.quote(str(s)) for s in segments)
            say(f"W&B: kept offline; upload it with: wandb sync {paths}")

    def _put(self, job: Callable[[Any], None]) -> None:
        if not self._broken:
            self._jobs.put(job)

    def _give_up(self, why: str) -> None:
        if not self._broken:
            self._broken = True
            self._warn(f"W&B is off for the rest of this run: {why}; metrics.jsonl has everything")

    def _work(self) -> None:
        run = None
        try:
            run = self._begin()
        except Exception as error:
            self._give_up(_one_line(error))
        while (job := self._jobs.get()) is not None:
            if self._broken:
                continue
            try:
                job(run)
            except Exception as error:
                self._give_up(_one_line(error))
                with contextlib.suppress(Exception):
                    assert run is not None
                    run.finish(exit_code=1)

    def _begin(self) -> Any:
        if self._mode == "online":
            try:
                return self._init("online")
            except Exception as error:
                self._warn(f"W&B: not reachable ({_one_line(error)}); this run is kept offline")
                import wandb

                wandb.teardown()  # its helper process still holds the run's id
        return self._init("offline")

    def _init(self, mode: str) -> Any:
        os.environ["WANDB_SILENT"] = "true"  # also heard by its helper process
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # its own telemetry holds up the exit without a network
        import wandb

        wanted = {
            "init_timeout": INIT_SECONDS,
            "finish_timeout": UPLOAD_SECONDS,
            "console": "off",  # it would take stdout away from the live line
            "silent": True,
        }
        known = getattr(wandb.Settings, "model_fields", None)
        run = wandb.init(
            project=self._options.project,
            group=self._options.group,
            tags=list(self._options.tags) or None,
            name=f"{self._folder.parent.name}/{self._folder.name}",
            dir=str(self._folder),
            config=self._config,
            id=_run_id(self._folder),
            resume="allow",
            mode=mode,  # type: ignore[arg-type]
            settings=wandb.Settings(**{k: v for k, v in wanted.items() if known is None or k in known}),  # type: ignore[arg-type]
        )
        run.define_metric("step")
        run.define_metric("*", step_metric="step")
        return run


def unsent_segments(folder: Path) -> list[Path]:
    """Offline parts of a run that `wandb sync` has not uploaded yet, oldest first."""
    found = sorted((folder / "wandb").glob("offline-run-*"))
    return [f for f in found if not any(f.glob("*.wandb.synced"))]


def _run_id(folder: Path) -> str:
    """The same for every start of this run folder, so that a resumed run goes on in the same place."""
    file = folder / ID_FILE
    with contextlib.suppress(OSError):
        if kept := file.read_text(encoding="utf-8").strip():
            return kept
    import secrets

    fresh = secrets.token_hex(4)
    file.write_text(fresh + "\n", encoding="utf-8")
    return fresh


def _send_final(run: Any, metrics: dict[str, Any]) -> None:
    import wandb

    test = metrics.get("test") or {}
    scores = {f"final/{k}": v for k, v in test.items() if isinstance(v, (int, float))}
    scores |= {f"final/{k}": v for k, v in (metrics.get("train") or {}).items() if isinstance(v, (int, float))}
    if metrics.get("gaussians") is not None:
        scores["final/gaussians"] = metrics["gaussians"]
    for key, value in scores.items():
        run.summary[key] = value
    if views := test.get("views"):
        columns = list(dict.fromkeys(k for v in views for k in v))
        run.log({"final/views": wandb.Table(columns=columns, data=[[v.get(c) for c in columns] for v in views])})


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
