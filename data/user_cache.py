"""Where results that are costly to make again lie: one folder of the user, freely deletable."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
import tempfile
from pathlib import Path

KINDS = {
    "kernels": "compiled CPU kernels",
    "sfm": "camera poses found from photos",
    "demo": "the built-in demo capture",
}


def cache_root() -> Path:
    """The cache folder of sceneloom, which need not exist: $SCENELOOM_CACHE, else the platform's place for caches."""
    if override := os.environ.get("SCENELOOM_CACHE"):
        return Path(override).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sceneloom" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sceneloom"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sceneloom"


def cache_dir(*parts: str) -> Path:
    """The cache folder with `parts` below it, made if absent; below the system's temporary folder where it cannot be written."""
    try:
        folder = cache_root().joinpath(*parts)
        if _writable(folder):
            return folder
    except RuntimeError:  # this user has no home
        pass
    folder = Path(tempfile.gettempdir(), f"sceneloom-cache-{_user()}", *parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def size(folder: Path) -> int:
    """Bytes of all files below `folder`; 0 if there is none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # deleted meanwhile by another run
            continue
    return total


def clear(kind: str) -> int:
    """Delete the caches of one kind (see KINDS); bytes freed."""
    folder = cache_dir(kind)
    before = size(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return before - size(folder)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _user() -> str:
    try:
        return getpass.getuser()
    except Exception:  # no such user in the password database, as in some containers
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
