"""report.html of a run, from what its stages wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .logs.metrics import read_rows
from .logs.report import Report, write
from .stages.state import State
from .versions import versions

MOST_PICTURES = 12


def write_report(state: State) -> Path:
    """Write <run>/report.html; a metrics.json or exports that are not there are left out."""
    assert state.scene is not None
    run = state.run
    metrics = _json(run.metrics)
    exports = _json(run.exports / "exports.json")
    views = (metrics.get("test") or {}).get("views") or []
    pictures = [(v["name"], p) for v in views if (p := run.renders / "test" / f"{v['name']}.png").is_file()]
    for name, picture in pictures[:MOST_PICTURES]:
        state.log.image(f"renders/{name}", picture, int((metrics.get("train") or {}).get("steps") or 0))
    page = Report(
        title=state.scene.name,
        subtitle=f"{len(state.scene.views)} views, {state.scene.kind}; {state.renderer.backend.name} ({state.renderer.backend.reason})",
        facts=[(f.key, f.text, f.level == "warning") for f in state.scene.facts],
        metrics=metrics,
        rows=read_rows(run.metrics_rows),
        pictures=pictures[:MOST_PICTURES],
        files=[(f"exports/{f['file']}", f["bytes"], f["note"]) for f in exports.get("files", [])],
        settings=state.config,
        versions=versions(),
    )
    return write(run.report, page)


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
