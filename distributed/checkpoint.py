"""Checkpoints: per-rank safetensors and one json manifest, also when there is one rank. Atomic, checksummed, no pickle.

    step_00001000/
        manifest.json      schema, step, world, sha256 and bytes of every file, plain values (`meta`)
        rank_00000.safetensors

A folder appears under its final name only when everything in it is on disk, so a kill at any moment leaves the one before.
step_00001000.old is the same step written earlier, set aside while the new one takes its name; it counts as long as it is there.
"""

from __future__ import annotations

import contextlib
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
ASIDE = ".old"


@dataclass(frozen=True)
class Checkpoint:
    step: int
    tensors: dict[str, torch.Tensor]
    meta: dict[str, Any]
    path: Path


def save(root: Path, step: int, tensors: dict[str, torch.Tensor], meta: dict[str, Any], keep: int = 2) -> Path:
    """Write `root/step_<step>`; then remove all but the newest `keep`. Returns the folder.

    InputError where it cannot be written (disk full); the checkpoints before it are then untouched.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    final = root / f"step_{step:08d}"
    temporary = root / f".{final.name}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        temporary.mkdir(parents=True)
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
        aside = final.with_name(final.name + ASIDE)
        if final.exists():  # the same step again, e.g. after a resume from an older one: the new one is as good
            _remove(aside)
            os.replace(final, aside)
        os.replace(temporary, final)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot write checkpoint {final}: {reason}; the one before is kept; free space and go on with resume=true"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _remove(aside)
    for old in steps(root)[:-keep]:
        _remove(old)
    for litter in root.glob(".step_*.tmp"):
        shutil.rmtree(litter, ignore_errors=True)
    return final


def steps(root: Path) -> list[Path]:
    """Checkpoint folders, oldest first; unfinished ones are not among them."""
    found = [p for p in root.glob("step_*") if (p / MANIFEST).is_file()]
    return sorted(found, key=lambda p: (p.name.removesuffix(ASIDE), not p.name.endswith(ASIDE)))


def load(path: Path) -> Checkpoint:
    """Read one checkpoint folder and verify every checksum; InputError names what is wrong."""
    from safetensors.torch import load_file

    if path.suffix == ".safetensors":
        raise InputError(f"{path} is one shard of a checkpoint; give the folder that holds its {MANIFEST}")
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        if (schema := manifest["schema"]) != SCHEMA:
            raise InputError(f"checkpoint {path} has schema {schema}; this version reads schema {SCHEMA}")
        sums = {name: facts["sha256"] for name, facts in manifest["files"].items()}
        step, meta = int(manifest["step"]), dict(manifest["meta"])
    except FileNotFoundError:
        raise InputError(f"no checkpoint at {path}: {MANIFEST} is missing") from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"damaged checkpoint {path}: {MANIFEST} cannot be read ({error!r})") from None
    tensors: dict[str, torch.Tensor] = {}
    for name, checksum in sums.items():
        file = path / name
        if not file.is_file():
            raise InputError(f"damaged checkpoint {path}: {name} is missing ({len(sums)} files belong to it)")
        if sha256(file) != checksum:
            raise InputError(f"damaged checkpoint {path}: {name} does not have the checksum of {MANIFEST}")
        tensors |= load_file(file)
    return Checkpoint(step, tensors, meta, path)


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


def _remove(folder: Path) -> None:
    """Take the name away first: a folder that is half deleted must not be taken for a checkpoint."""
    litter = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.tmp")
    with contextlib.suppress(OSError):
        os.replace(folder, litter)
        shutil.rmtree(litter, ignore_errors=True)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
