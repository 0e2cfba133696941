"""metrics.jsonl, the truth about a run: one flat JSON object a line, flushed as it is written."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, TextIO

from ...data.errors import InputError


class MetricsFile:
    """Appends rows. A line that a kill cut short is closed or dropped, never glued to the next row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None

    def row(self, row: dict[str, Any]) -> None:
        """Append one flat row; numbers that are not finite become null. InputError when the disk refuses."""
        line = json.dumps({str(k): _plain(v) for k, v in row.items()}, ensure_ascii=False, allow_nan=False)
        try:
            file = self._opened()
            file.write(line + "\n")
            file.flush()
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror or error}; free space or set out=") from error

    def truncate_after(self, step: int) -> None:
        """Keep the rows up to `step`, atomically: training goes on from there and will write the later ones again."""
        self.close()
        if not self.path.exists():
            return
        kept = [json.dumps(r, ensure_ascii=False) + "\n" for r in read_rows(self.path) if r.get("step", 0) <= step]
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text("".join(kept), encoding="utf-8")
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _opened(self) -> TextIO:
        if self._file is None:
            cut = _ends_within_a_line(self.path)
            self._file = self.path.open("a", encoding="utf-8", newline="\n")
            if cut:
                self._file.write("\n")
        return self._file


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Every whole row of a metrics file, in order; lines that do not parse (a kill in mid-write) are passed over."""
    rows = []
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _ends_within_a_line(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:  # absent or empty
        return False


def _plain(value: Any) -> Any:
    """A JSON scalar; numpy and torch scalars are unwrapped."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"rows of metrics are flat; got a {type(value).__name__}")
