"""Load: capture -> scene, the data report, the image cache. Nothing is trained before its lines were said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...data.capture import load_capture
from ...data.demo import demo_capture
from ...data.errors import InputError
from ...data.images.cache import ImageCache
from ...data.report import lines
from ...data.scene import Scene
from ..logs.logger import Logger
from ..run_folder import fingerprint
from ..targets import fixed_background
from .state import State

GIB = 1 << 30


def load(state: State) -> State:
    """Read the capture named by `data.*` (the built-in demo if data.path is null)."""
    data = {k: v for k, v in state.config["data"].items() if k not in ("_target_", "cache_gb")}
    scene = open_capture(data, state.log)
    for line in lines(scene):
        state.log.line(line)
    return replace(
        state,
        scene=scene,
        cache=ImageCache(int(float(state.config["data"]["cache_gb"]) * GIB)),
        has_alpha=scene.has_alpha,
        background=fixed_background(state.config["train"]["background"], scene.has_alpha),
    )


def open_capture(data: dict[str, Any], log: Logger) -> Scene:
    if data.get("path") is None:
        data = data | {"path": str(demo_capture(progress=log.line))}
    return load_capture(**data, progress=log.working)


def scene_fingerprint(scene: Scene) -> str:
    """Equal for captures that train alike: names, cameras, points and the split."""
    return fingerprint(
        [v.name for v in scene.views],
        *[v.camera.K.tobytes() + v.camera.world_to_camera.tobytes() for v in scene.views],
        scene.points.xyz.tobytes(),
        list(scene.test),
    )


def pose_marks(scene: Scene) -> dict[str, str]:
    """A short hash of every photo's pose, by name: what a model must be looked at with."""
    return {v.name: fingerprint(v.camera.world_to_camera.tobytes())[:8] for v in scene.views}


def require_same_poses(scene: Scene, marks: dict[str, str], where: str) -> None:
    """InputError if a photo has another pose than the model was trained with (poses edited, or found anew from photos)."""
    now = pose_marks(scene)
    other = [name for name in now if name in marks and marks[name] != now[name]]
    if other or not set(now) & set(marks):
        what = (
            f"{len(other)} photos have other poses, the first is {other[0]}" if other else "it has none of its photos"
        )
        raise InputError(
            f"{where} was trained on another capture: {what}; set data.path to that capture, or start anew with train.init="
        )
