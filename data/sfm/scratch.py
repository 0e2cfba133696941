"""A folder to compute in beside where the result will lie, so that the result can be renamed into place."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "making-"
_STALE = 24 * 3600.0  # seconds without a change at its top; a running job makes and removes files there far more often


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder in `parent`, gone afterwards. Those that killed runs left behind over a day ago are removed first."""
    _remove_stale(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            changed = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
        except OSError:  # its own run removes it meanwhile
            continue
        if time.time() - changed > _STALE:
            shutil.rmtree(folder, ignore_errors=True)
