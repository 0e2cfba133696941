"""Folders that are built once and kept: whole or not at all, checked on every use, safe with several processes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

_MANIFEST = "manifest.json"
_STALE_SECONDS = 24 * 3600.0


def cached_folder(folder: Path, build: Callable[[Path], None]) -> Path:
    """`folder`, filled by `build(empty_folder)` unless it already stands there undamaged.

    The build works in a neighbouring temporary folder, which is renamed when complete. Of two processes that build at
    once the later one finds the other's result and drops its own. Raises whatever `build` raises, leaving nothing.
    """
    if is_whole(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    work = folder.parent / f".building-{uuid.uuid4().hex}"
    work.mkdir()
    try:
        build(work)
        _seal(work)
        for attempt in range(20):
            try:
                os.replace(work, folder)
            except OSError:  # something stands there: somebody else's result, or a damaged one
                if is_whole(folder):
                    break
                _discard(folder)
                time.sleep(0.01 * attempt)
            else:
                break
        if not is_whole(folder):
            raise OSError(f"could not place the finished folder at {folder}: is it in use, or the disk read-only?")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def is_whole(folder: Path) -> bool:
    """True if every file that the manifest names is there with the bytes that were written, and the manifest too."""
    try:
        listed = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return bool(listed) and all(_digest(folder / name) == digest for name, digest in listed.items())
    except (OSError, ValueError, AttributeError):
        return False


def _seal(folder: Path) -> None:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    listed = {p.relative_to(folder).as_posix(): _digest(p) for p in files}
    (folder / _MANIFEST).write_text(json.dumps(listed, indent=1), encoding="utf-8")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _discard(folder: Path) -> None:
    """Out of the way first (one rename, so nobody sees half of it), then deleted."""
    trash = folder.parent / f".building-{uuid.uuid4().hex}"
    try:
        os.replace(folder, trash)
    except OSError:
        return
    shutil.rmtree(trash, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Removes what interrupted builds left behind, once it is surely not in use any more."""
    for path in parent.glob(".building-*"):
        try:
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue
