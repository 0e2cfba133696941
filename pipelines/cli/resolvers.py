"""Where a run is kept if `out` does not say: runs/<capture>/<time>, claimed so that no two processes share it."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

DEMO = "demo"
_stamp: list[str] = []  # this process's time stamp, made once so that all jobs of a sweep agree


def stamp() -> str:
    if not _stamp:
        _stamp.append(datetime.now().strftime("%Y-%m-%d_%H-%M-%S"))
    return _stamp[0]


def capture_name(path: str | None) -> str:
    """A name for folders: the capture's own without what file systems dislike; 'demo' for the built-in one."""
    if not path:
        return DEMO
    place = Path(os.path.abspath(os.path.expanduser(str(path))))
    name = place.stem if place.suffix.lower() in (".json", ".zip", ".mp4", ".mov") else place.name
    if name.startswith("transforms"):
        name = place.parent.name
    return re.sub(r"[^\w\-. ]+", "_", name).strip(" .") or "scene"


def run_folder(path: str | None = None) -> str:
    return f"runs/{capture_name(path)}/{stamp()}"


def register() -> None:
    """${run_folder:${data.path}} and ${stamp:}, for conf/config.yaml."""
    OmegaConf.register_new_resolver("run_folder", run_folder, replace=True, use_cache=True)
    OmegaConf.register_new_resolver("stamp", stamp, replace=True, use_cache=True)


def claim(config: DictConfig, key: str) -> Path | None:
    """Make the folder that config key `key` names, if the name came from the clock; a later number where another process was first.

    The made folder, or None for a folder that the user named.
    """
    first = stamp()
    for number in range(2, 10_000):
        folder = Path(str(OmegaConf.select(config, key)))
        if stamp() not in folder.parts:
            return None
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            _stamp[:] = [f"{first}-{number}"]
            OmegaConf.clear_cache(config)
    raise FileExistsError(folder)


def forget() -> None:
    """A new stamp for the next command of this process."""
    _stamp.clear()
