"""Export: splat files in input coordinates and the page to walk through, each re-read before success is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..export import SUFFIX, ExportOptions, export, precision_warning
from ..finished_model import finished
from ..run_folder import fingerprint, write_json
from .state import State
from .trained import looks, newest_checkpoint, with_training


def options_of(node: dict[str, Any]) -> ExportOptions:
    return ExportOptions(**{**node, "formats": tuple(node["formats"])})


@dataclass(frozen=True)
class Export:
    name: str = "export"

    def inputs(self, state: State) -> str:
        return fingerprint(state.config["export"], newest_checkpoint(state), looks(state))

    def present(self, state: State) -> bool:
        return all((state.run.exports / SUFFIX[f]).is_file() for f in options_of(state.config["export"]).formats)

    def run(self, state: State) -> State:
        options = options_of(state.config["export"])
        state = with_training(state)
        assert state.scene is not None
        assert state.training is not None
        assert state.cache is not None
        g = finished(state.training).gaussians()
        if not options.recenter and (warning := precision_warning(g, state.scene.frame)):
            state.log.warn(warning)
        written = export(
            g, state.scene, state.cache, options, state.run.exports, state.background, state.renderer.antialiased
        )
        lost = []
        if "exposure" in state.training.views:
            lost.append("per-photo exposure: its mean is baked into the colours")
        if "poses" in state.training.views:
            lost.append("refined poses: the page and the files keep the capture's own cameras")
        if state.renderer.antialiased:
            lost.append("anti-aliasing: a PLY cannot say that the splats were trained for it (page and SPZ do)")
        for file in written:
            state.log.line(f"wrote {file.path} ({file.bytes / 1e6:.1f} MB, {file.gaussians} Gaussians, {file.note})")
        for line in lost:
            state.log.line(f"not in the files: {line}")
        facts = [{"file": f.path.name, "bytes": f.bytes, "gaussians": f.gaussians, "note": f.note} for f in written]
        write_json(state.run.exports / "exports.json", {"files": facts, "lost": lost})
        return state
