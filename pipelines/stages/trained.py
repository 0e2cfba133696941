"""The trained state for a stage that runs alone: from memory, else from the newest whole checkpoint of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...data.errors import InputError
from ...distributed import checkpoint
from ..instantiate import instantiate
from ..training_state import TrainingState
from .load import require_same_poses, scene_fingerprint
from .state import State


def newest_checkpoint(state: State) -> list[Any]:
    """Name and checksums of the newest checkpoint folder, for fingerprints."""
    import json

    folders = checkpoint.steps(state.run.checkpoints)
    if not folders:
        raise InputError(
            f"{state.run.path} holds no checkpoint: train it first (sceneloom reconstruct out={state.run.path})"
        )
    manifest = json.loads((folders[-1] / checkpoint.MANIFEST).read_text(encoding="utf-8"))
    return [folders[-1].name, manifest["files"]]


def looks(state: State) -> list[Any]:
    """What the pictures depend on besides model and settings, for fingerprints."""
    assert state.scene is not None
    data = {k: v for k, v in state.config["data"].items() if k != "cache_gb"}
    return [data, scene_fingerprint(state.scene), state.background, state.renderer.antialiased]


def with_training(state: State) -> State:
    if state.training is not None:
        return state
    found, warnings = checkpoint.latest(state.run.checkpoints)
    for warning in warnings:
        state.log.warn(warning)
    if found is None:
        raise InputError(
            f"{state.run.path} holds no whole checkpoint: train it first (sceneloom reconstruct out={state.run.path})"
        )
    assert state.scene is not None
    require_same_poses(state.scene, found.meta["poses"], str(found.path))
    strategy = instantiate(state.config["strategy"])
    return replace(state, training=TrainingState.restored(found, strategy, state.renderer.backend.device))
