"""Where a run keeps its things, and which stages of it are finished with which inputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..data.errors import InputError
from ..data.files import write_atomically


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def settings(self) -> Path:
        """The overrides of the command line, as a resume replays them."""
        return self.path / "overrides.yaml"

    @property
    def metrics_rows(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def renders(self) -> Path:
        return self.path / "renders"

    @property
    def exports(self) -> Path:
        return self.path / "exports"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def _stages(self) -> Path:
        return self.path / "stages.json"

    def finished(self, stage: str) -> dict[str, Any] | None:
        """What was recorded when `stage` last finished, or None."""
        return self._read().get(stage)

    def record(self, stage: str, **facts: Any) -> None:
        write_json(self._stages, self._read() | {stage: facts})

    def forget(self, *stages: str) -> None:
        write_json(self._stages, {k: v for k, v in self._read().items() if k not in stages})

    def _read(self) -> dict[str, Any]:
        try:
            return json.loads(self._stages.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}


def existing(path: str | Path | None, key: str = "run") -> RunFolder:
    """The run folder that a user names; InputError if it is none."""
    if path is None:
        raise InputError(f"no run given: set {key}=FOLDER (a folder that `sceneloom reconstruct` wrote)")
    folder = RunFolder(Path(path))
    if not folder.path.is_dir():
        raise InputError(f"{key}={path}: there is no such folder")
    if not folder.config.is_file():
        raise InputError(f"{key}={path} is not a run folder: {folder.config.name} is missing")
    return folder


def write_json(path: Path, value: Any) -> None:
    """Atomic; numbers that are not finite become null. InputError where the file cannot be written (disk full)."""
    text = json.dumps(_plain(value), indent=1, ensure_ascii=False).encode()

    def write(file: BinaryIO) -> None:
        file.write(text)

    write_atomically(path, write, key="out")


def fingerprint(*values: Any) -> str:
    """A short hash of plain values, paths and arrays: equal inputs, equal text."""
    digest = hashlib.sha256()
    for value in values:
        data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True, default=str).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
