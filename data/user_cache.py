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
    """Where caches are wanted: $SCENELOOM_CACHE, else the platform's place for caches. It need not exist."""
    if override := os.environ.get("SCENELOOM_CACHE"):
        return Path(override).expanduser()
    home = Path(os.path.expanduser("~"))
    if not home.is_absolute():  # this user has no home
        return Path(tempfile.gettempdir(), f"sceneloom-cache-{_user()}")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "sceneloom" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "sceneloom"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "sceneloom"


def cache_dir(*parts: str) -> Path:
    """The cache folder with `parts` below it, made if absent; below the system's temporary folder where it cannot be written."""
    for root in (cache_root(), Path(tempfile.gettempdir(), f"sceneloom-cache-{_user()}")):
        folder = root.joinpath(*parts)
        if _writable(folder):
            return folder
    raise OSError(f"no cache folder can be written, neither {cache_root()} nor {root}; set $SCENELOOM_CACHE")


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
