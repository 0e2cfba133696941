"""A capture inside a zip: unpacked once into the user's cache, by content, with nothing written outside of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from ..errors import InputError
from ..user_cache import cache_dir


def unpack(path: Path) -> Path:
    """The folder of the capture inside the archive (a single folder at its top is entered). Raises InputError."""
    try:
        with open(path, "rb") as f:
            digest = hashlib.file_digest(f, "blake2b").hexdigest()[:40]
        target = cache_dir("unzipped") / digest
        if not target.is_dir():
            with zipfile.ZipFile(path) as archive:
                _extract(archive, path, target)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as e:
        raise InputError(f"{path} cannot be unpacked: {e}; unpack it by hand and set data.path to the folder") from None
    except OSError as e:
        raise InputError(f"{path} cannot be unpacked: {e.strerror or e} ($SCENELOOM_CACHE moves the cache)") from None
    inside = [p for p in target.iterdir() if not p.name.startswith(".") and p.name != "__MACOSX"]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() and inside[0].name != "images" else target


def _extract(archive: zipfile.ZipFile, path: Path, target: Path) -> None:
    entries = [e for e in archive.infolist() if not e.is_dir()]
    needed = sum(e.file_size for e in entries)
    free = shutil.disk_usage(target.parent).free
    if needed > 0.9 * free:
        raise InputError(
            f"{path} unpacks to {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; $SCENELOOM_CACHE moves the cache"
        )
    scratch = Path(tempfile.mkdtemp(prefix="making-", dir=target.parent))
    try:
        for entry in entries:
            name = PurePosixPath(entry.filename.replace("\\", "/"))
            if (
                name.is_absolute()
                or ".." in name.parts
                or ":" in name.parts[0]
                or stat.S_ISLNK(entry.external_attr >> 16)
            ):
                raise InputError(f"{path} holds {entry.filename!r}, which points outside of the archive; refused")
            file = scratch / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(file, "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
        try:
            os.replace(scratch, target)
        except OSError:  # another process was faster
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
