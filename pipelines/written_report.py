"""report.html of a run, from what its stages wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .logs.metrics import read_rows
from .logs.report import Report, write
from .logs.top_view import top_view
from .stages.state import State
from .versions import versions


def write_report(state: State) -> Path:
    """Write <run>/report.html; a metrics.json or exports that are not there are left out."""
    assert state.scene is not None
    run = state.run
    metrics = _json(run.metrics)
    exports = _json(run.exports / "exports.json")
    views = (metrics.get("test") or {}).get("views") or []
    shown = [(which, v, p) for which, v in picked(views) if (p := run.renders / "test" / f"{v['name']}.png").is_file()]
    for which, _, picture in shown:
        state.log.image(f"test/{which}", picture, int((metrics.get("train") or {}).get("steps") or 0))
    page = Report(
        title=state.scene.name,
        subtitle=f"{len(state.scene.views)} views, {state.scene.kind}; {state.renderer.backend.name} ({state.renderer.backend.reason})",
        facts=[(f.key, f.text, f.level == "warning") for f in state.scene.facts],
        map=top_view(state.scene),
        metrics=metrics,
        rows=read_rows(run.metrics_rows),
        pictures=[(f"{which}: {v['name']}, {v['psnr']:.2f} dB. Photo left, render right.", p) for which, v, p in shown],
        files=[(f"exports/{f['file']}", f["bytes"], f["note"]) for f in exports.get("files", [])],
        settings=state.config,
        versions=versions(),
    )
    return write(run.report, page)


def picked(views: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The views that tell most: best, median and worst by PSNR; fewer if there are not three."""
    ranked = sorted((v for v in views if v.get("psnr") is not None), key=lambda v: -v["psnr"])
    if len(ranked) < 3:
        return list(zip(("best", "worst"), ranked, strict=False))
    return [("best", ranked[0]), ("median", ranked[len(ranked) // 2]), ("worst", ranked[-1])]


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
