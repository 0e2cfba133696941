"""Files appear whole or not at all: write beside the target, check, then rename."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from .errors import InputError


def write_atomically(
    path: Path, write: Callable[[BinaryIO], None], check: Callable[[Path], None] | None = None, key: str = "out"
) -> None:
    """Let `write` fill a temporary file in the folder of `path`, let `check` re-read it, then rename it to `path`.

    `check` raises if the file does not hold what was meant. On any failure the temporary file is removed and `path`
    keeps whatever it held before. An OSError (disk full, no permission, path is a folder) becomes an InputError that
    names `key`, the config key with which the user can choose another place.
    """
    temp: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        temp = Path(name)
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if check is not None:
            check(temp)
        _apply_umask(temp)
        os.replace(temp, path)
        temp = None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot write {path}: {reason}; nothing was left behind, choose another place with {key}="
        ) from error
    finally:
        if temp is not None:
            temp.unlink(missing_ok=True)


def _apply_umask(path: Path) -> None:
    """mkstemp makes private files; give them the mode that a plain open() would have given."""
    if os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        path.chmod(0o666 & ~mask)
