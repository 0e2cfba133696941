"""The one model that evaluation, export and the viewer share: per-photo exposure baked in, all learned degrees active."""

from __future__ import annotations

from ..renderers.splats.model import Splats
from .exposure import bake
from .training_state import TrainingState


def finished(training: TrainingState) -> Splats:
    """The trained model itself, or, where exposure was learned, a copy with the mean exposure baked in."""
    if "exposure" not in training.views:
        return training.model
    maps = training.views["exposure"].detach().cpu().numpy()
    return Splats.from_gaussians(bake(training.model.gaussians(), maps), device=training.model.device)
