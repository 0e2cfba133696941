"""Evaluate: score the held-out photos, write pictures beside each other and metrics.json."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...data.scene import View
from ...renderers.images.lpips import load_lpips
from ...renderers.protocols import Model
from ..alignment import aligned_poses
from ..evaluate import ViewScore, score, summary
from ..exposure import aligned
from ..finished_model import finished
from ..run_folder import fingerprint, write_json
from .state import State
from .trained import newest_checkpoint, with_training

SHOWN = 4  # pictures that go to W&B


@dataclass(frozen=True)
class Evaluate:
    name: str = "evaluate"

    def inputs(self, state: State) -> str:
        node = {k: v for k, v in state.config["evaluate"].items() if k != "every"}
        return fingerprint(node, newest_checkpoint(state), state.config["data"])

    def run(self, state: State) -> State:
        state = with_training(state)
        assert state.scene is not None
        assert state.training is not None
        model = finished(state.training)
        metrics = self._measure(state, model)
        metrics["train"] = {"seconds": state.training.seconds, "steps": state.training.step}
        metrics["gaussians"] = len(model)
        write_json(state.run.metrics, metrics)
        state.log.line(_line(metrics))
        for view in state.scene.test_views[:SHOWN]:
            if (pair := pair_path(state.run.renders, view)).is_file():
                state.log.image(f"test/{view.name}", pair, state.training.step)
        return state

    def _measure(self, state: State, model: Model) -> dict[str, Any]:
        assert state.scene is not None
        assert state.training is not None
        options = state.config["evaluate"]
        lpips, reason = load_lpips(options["lpips_weights"])
        views = state.scene.test_views

        def scored(save: bool = False, **how: Any) -> list[ViewScore]:
            assert state.cache is not None
            keep = (lambda v, a, b: _save_pair(state.run.renders, v, a, b)) if save and options["save_images"] else None
            return score(model, state.renderer, views, state.cache, state.background, lpips, keep, **how)

        test = summary(scored(save=True))
        test["lpips_note"] = reason
        if not views:
            test["note"] = "no held-out views (data.every=0 or too few photos): nothing to score"
        metrics: dict[str, Any] = {"test": test, "background": list(state.background), "alignment": "none"}
        first = views[0].camera if views else state.scene.views[0].camera
        metrics["resolution"] = [first.width, first.height]
        if "exposure" in state.training.views and views:
            metrics["test_color_aligned"] = summary(scored(recolour=aligned))
            metrics["alignment"] = "test: none; test_color_aligned: least-squares affine colour per photo"
        if "poses" in state.training.views and views:
            assert state.cache is not None
            found = aligned_poses(model, state.renderer, views, state.cache, state.background)
            metrics["test_pose_aligned"] = summary(scored(poses=lambda view: found[view.name]))
            metrics["alignment"] += "; test_pose_aligned: pose of every held-out photo refined on that photo"
        return metrics


def _line(metrics: dict[str, Any]) -> str:
    test = metrics["test"]
    if test["psnr"] is None:
        return f"evaluation: {test.get('note', 'no score')}"
    seconds = np.mean([v["seconds"] for v in test["views"]])
    lpips = f"{test['lpips']:.4f}" if test["lpips"] is not None else f"n/a ({test['lpips_note']})"
    line = f"held-out ({len(test['views'])} photos): PSNR {test['psnr']:.2f} dB, SSIM {test['ssim']:.4f}, LPIPS {lpips}"
    if "masked_psnr" in test and test["masked_psnr"] is not None:
        line += f", inside the masks PSNR {test['masked_psnr']:.2f} dB"
    return line + f"; {1e3 * seconds:.0f} ms a picture"


def pair_path(renders: Path, view: View) -> Path:
    return renders / "test" / (view.name + ".png")


def _save_pair(folder: Path, view: View, drawn: np.ndarray, photo: np.ndarray) -> None:
    """Photo left, render right, one PNG per view under its own relative name."""
    from PIL import Image

    path = pair_path(folder, view)
    path.parent.mkdir(parents=True, exist_ok=True)
    both = np.concatenate([photo, np.ones_like(photo[:, :4]), drawn], 1)
    Image.fromarray((both * 255 + 0.5).astype(np.uint8)).save(path)
