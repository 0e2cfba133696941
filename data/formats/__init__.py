"""Splat file formats: one module each, one line each in `FORMATS`. Modules load when their suffix is asked for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..gaussians import Gaussians


@dataclass(frozen=True)
class Format:
    """Where a format lives: `reader(path) -> Gaussians`, and maybe `writer(path, gaussians) -> rows left out`."""

    title: str
    module: str
    reader: str
    writer: str | None = None
    says_antialiased: bool = False


# Longest suffix first where one ends with another.
FORMATS = {
    ".compressed.ply": Format("SuperSplat compressed PLY", "compressed_ply", "read_compressed_ply"),
    ".ply": Format("INRIA PLY", "ply", "read_ply", "write_ply"),
    ".spz": Format("SPZ", "spz", "read_spz", "write_spz", says_antialiased=True),
}
# Known by name, so that the refusal can say what the file is.
FOREIGN = {
    ".splat": "a .splat file",
    ".ksplat": "a .ksplat file",
    ".sog": "a SOG file",
    ".glb": "a glTF file",
    ".gltf": "a glTF file",
}


def read_splats(path: Path | str) -> Gaussians:
    """Read any known splat file, chosen by suffix. Raises InputError that names the format when it cannot be read."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such splat file: {path}")
    found = _format_of(path, "read")
    return getattr(importlib.import_module(f".{found.module}", __name__), found.reader)(path)


def write_splats(path: Path | str, gaussians: Gaussians, antialiased: bool = False) -> int:
    """Write a splat file, format by suffix, atomically. Returns how many non-finite rows were left out.

    antialiased: the splats were trained for it; noted in formats that can say so.
    """
    path = Path(path)
    found = _format_of(path, "written")
    if found.writer is None:
        raise InputError(f"{path}: {found.title} can be read but not written; choose one of {', '.join(writable())}")
    writer = getattr(importlib.import_module(f".{found.module}", __name__), found.writer)
    return writer(path, gaussians, antialiased) if found.says_antialiased else writer(path, gaussians)


def writable() -> tuple[str, ...]:
    """Suffixes that `write_splats` takes."""
    return tuple(suffix for suffix, found in FORMATS.items() if found.writer)


def _format_of(path: Path, verb: str) -> Format:
    name = path.name.lower()
    for suffix, found in FORMATS.items():
        if name.endswith(suffix):
            return found
    kind = FOREIGN.get(path.suffix.lower(), f"of unknown kind '{path.suffix}'")
    raise InputError(f"{path} is {kind}, which cannot be {verb}; known are {', '.join(FORMATS)}")
