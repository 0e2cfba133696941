"""Checkpoints: per-rank safetensors and one json manifest, also when there is one rank. Atomic, checksummed, no pickle.

    step_00001000/
        manifest.json      schema, step, world, sha256 and bytes of every file, plain values (`meta`)
        rank_00000.safetensors

A folder appears under its final name only when everything in it is on disk, so a kill at any moment leaves the one before.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..data.errors import InputError

SCHEMA = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Checkpoint:
    step: int
    tensors: dict[str, torch.Tensor]
    meta: dict[str, Any]
    path: Path


def save(root: Path, step: int, tensors: dict[str, torch.Tensor], meta: dict[str, Any], keep: int = 2) -> Path:
    """Write `root/step_<step>`; then remove all but the newest `keep`. Returns the folder."""
    from safetensors.torch import save_file

    root.mkdir(parents=True, exist_ok=True)
    final = root / f"step_{step:08d}"
    temporary = root / f".{final.name}.{uuid.uuid4().hex[:8]}.tmp"
    temporary.mkdir()
    try:
        shard = temporary / "rank_00000.safetensors"
        save_file({k: v.detach().cpu().contiguous() for k, v in tensors.items()}, shard)
        _sync(shard)
        manifest = {
            "schema": SCHEMA,
            "step": step,
            "world": 1,
            "files": {shard.name: {"sha256": sha256(shard), "bytes": shard.stat().st_size}},
            "meta": meta,
        }
        text = temporary / MANIFEST
        text.write_text(json.dumps(manifest, indent=1, allow_nan=False), encoding="utf-8")
        _sync(text)
        if final.exists():  # the same step again, e.g. after a resume from an older one: the new one is as good
            shutil.rmtree(final)
        os.replace(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    for old in steps(root)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    for litter in root.glob(".step_*.tmp"):
        shutil.rmtree(litter, ignore_errors=True)
    return final


def steps(root: Path) -> list[Path]:
    """Checkpoint folders, oldest first; unfinished ones are not among them."""
    return sorted(p for p in root.glob("step_*") if (p / MANIFEST).is_file())


def load(path: Path) -> Checkpoint:
    """Read one checkpoint folder and verify every checksum; InputError names what is wrong."""
    from safetensors.torch import load_file

    if path.suffix == ".safetensors":
        raise InputError(f"{path} is one shard of a checkpoint; give the folder that holds its {MANIFEST}")
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        schema, files = manifest["schema"], manifest["files"]
    except FileNotFoundError:
        raise InputError(f"no checkpoint at {path}: {MANIFEST} is missing") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"damaged checkpoint {path}: {MANIFEST} cannot be read ({error})") from None
    if schema != SCHEMA:
        raise InputError(f"checkpoint {path} has schema {schema}; this version reads schema {SCHEMA}")
    tensors: dict[str, torch.Tensor] = {}
    for name, facts in files.items():
        file = path / name
        if not file.is_file():
            raise InputError(f"damaged checkpoint {path}: {name} is missing ({len(files)} files belong to it)")
        if sha256(file) != facts["sha256"]:
            raise InputError(f"damaged checkpoint {path}: {name} does not have the checksum of {MANIFEST}")
        tensors |= load_file(file)
    return Checkpoint(int(manifest["step"]), tensors, manifest["meta"], path)


def latest(root: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is whole, and a line about each damaged one passed over."""
    warnings = []
    for path in reversed(steps(root)):
        try:
            return load(path), warnings
        except InputError as error:
            warnings.append(str(error))
    return None, warnings


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
