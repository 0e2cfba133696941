"""Where results that are costly to make again lie: one folder of the user, freely deletable."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir(*parts: str) -> Path:
    """The user's cache folder of sceneloom, with `parts` below it, made if absent. $SCENELOOM_CACHE moves it."""
    if override := os.environ.get("SCENELOOM_CACHE"):
        base = Path(override).expanduser()
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sceneloom" / "cache"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches" / "sceneloom"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sceneloom"
    folder = base.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
