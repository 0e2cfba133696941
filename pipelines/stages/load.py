"""Load: capture -> scene, the data report, the image cache. Nothing is trained before its lines were said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...data.capture import load_capture
from ...data.demo import demo_capture
from ...data.images.cache import ImageCache
from ...data.report import lines
from ...data.scene import Scene
from ..logs.logger import Logger
from ..run_folder import fingerprint
from ..targets import fixed_background, scene_has_alpha
from .state import State

GIB = 1 << 30


def load(state: State) -> State:
    """Read the capture named by `data.*` (the built-in demo if data.path is null)."""
    data = {k: v for k, v in state.config["data"].items() if k not in ("_target_", "cache_gb")}
    scene = open_capture(data, state.log)
    for line in lines(scene):
        state.log.line(line)
    has_alpha = scene_has_alpha(scene)
    return replace(
        state,
        scene=scene,
        cache=ImageCache(int(float(state.config["data"]["cache_gb"]) * GIB)),
        has_alpha=has_alpha,
        background=fixed_background(state.config["train"]["background"], has_alpha),
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
