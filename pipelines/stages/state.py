"""What the stages hand on to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...data.images.cache import ImageCache
from ...data.scene import Scene
from ...renderers.splats.render import SplatRenderer
from ..logs.logger import Logger
from ..run_folder import RunFolder
from ..targets import Colour
from ..training_state import TrainingState


@dataclass(frozen=True)
class State:
    """Replaced, never mutated. What a stage has not produced yet is None. config: the resolved config as plain values."""

    config: dict[str, Any]
    run: RunFolder
    log: Logger
    renderer: SplatRenderer
    scene: Scene | None = None
    cache: ImageCache | None = None
    has_alpha: bool = False
    background: Colour = (0.0, 0.0, 0.0)
    training: TrainingState | None = None
    interrupted: bool = False


class Stage(Protocol):
    """`inputs` is a fingerprint of everything the result depends on; a stage whose recorded fingerprint is the same is not run again."""

    @property
    def name(self) -> str: ...

    def inputs(self, state: State) -> str: ...

    def present(self, state: State) -> bool:
        """Whether everything that the stage writes is there and whole."""
        ...

    def run(self, state: State) -> State: ...


def run_stages(state: State, stages: Sequence[Stage], force: bool = False) -> State:
    """Run in order what has not been finished with the same inputs; stop after an interrupted training."""
    for stage in stages:
        inputs = stage.inputs(state)
        done = state.run.finished(stage.name)
        if not force and done is not None and done.get("inputs") == inputs and stage.present(state):
            state.log.line(f"{stage.name}: unchanged since it last finished, kept")
            continue
        state.run.forget(stage.name)
        state = stage.run(state)
        if state.interrupted:
            break
        state.run.record(stage.name, inputs=inputs)
    return state
