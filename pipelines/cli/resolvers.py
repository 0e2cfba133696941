"""`${run_folder:PATH}`: a new folder runs/<capture>/<time> that no other process has."""

from __future__ import annotations

import contextlib
import re
import shutil
from datetime import datetime
from pathlib import Path

DEMO = "demo"


def register() -> None:
    from omegaconf import OmegaConf

    OmegaConf.register_new_resolver("run_folder", run_folder, use_cache=True, replace=True)


def run_folder(capture: str | None) -> str:
    """The folder is made at once, so that two runs started in one second get two."""
    base = Path("runs").absolute() / capture_name(capture) / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    for number in range(1, 1000):
        folder = base if number == 1 else base.with_name(f"{base.name}_{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return str(folder)
    raise OSError(f"cannot make a run folder like {base}")


def capture_name(capture: str | None) -> str:
    """A name for folders: the capture's own without what file systems dislike; 'demo' for the built-in one."""
    if not capture:
        return DEMO
    path = Path(capture)
    name = path.stem if path.suffix.lower() in (".json", ".zip", ".mp4", ".mov") else path.name
    if name.startswith("transforms"):
        name = path.absolute().parent.name
    return re.sub(r"[^\w\-. ]+", "_", name).strip(" .") or "scene"


def forget_unused(folder: Path) -> None:
    """Remove a run folder in which no work has begun (a mistake in the command leaves nothing behind)."""
    if not (folder / ".hydra").is_dir() or {p.name for p in folder.iterdir()} - {".hydra", "log.txt", "config.yaml"}:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # runs/<capture> and runs, if nothing else is in them
        folder.parent.rmdir()
        folder.parent.parent.rmdir()
