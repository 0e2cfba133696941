"""The training loop: one photo a step, photometric loss, Adam, the strategy. It knows nothing of folders, terminals or ranks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch

from ..data.errors import Failure
from ..data.images.cache import ImageCache
from ..data.scene import Scene, View
from ..renderers.images.photometric import photometric_loss
from ..renderers.protocols import Rendered
from ..renderers.splats.render import SplatRenderer
from . import exposure, poses
from .optimizer import Rates
from .strategies.protocol import StepInfo, Strategy
from .targets import fixed_background, random_background, target
from .training_state import TrainingState
from .view_order import ViewOrder

PREFETCH = 4


@dataclass(frozen=True)
class TrainOptions:
    """The `train` node of the config. Counts are steps; rates are those of `Rates`."""

    steps: int = 2000
    max_gaussians: int = 100_000
    init: str | None = None
    init_points: int = 20_000
    init_opacity: float = 0.5
    init_scale: float = 1.0
    triangulate: bool = True
    sh_degree: int = 3
    sh_every: int | None = None
    ssim_weight: float = 0.2
    background: Any = "auto"
    exposure: bool = False
    exposure_rate: float = 1e-3
    poses: bool = False
    poses_rate: float = 1e-4
    checkpoint_every: int = 1000
    rates: Rates = field(default_factory=Rates)

    def degree_at(self, step: int) -> int:
        """Active degree of the spherical harmonics: one more every `sh_every` steps (1000 as published, sooner in short runs)."""
        every = self.sh_every or max(1, min(1000, self.steps // 10))
        return min(self.sh_degree, (step - 1) // every)


class TrainingDiverged(Failure):
    """A number stopped being finite, or nothing is left; the text names step, photo and culprit."""


@dataclass(frozen=True)
class Watch:
    """What the caller wants to hear. row(metrics of a step), line(text), pause(state) between steps: True stops after this step."""

    row: Callable[[dict[str, float]], None]
    line: Callable[[str], None]
    pause: Callable[[TrainingState], bool]


@dataclass
class Trainer:
    """The fixed surroundings of a run; `run` moves a state forward."""

    scene: Scene
    renderer: SplatRenderer
    strategy: Strategy
    options: TrainOptions
    cache: ImageCache
    seed: int
    has_alpha: bool

    def __post_init__(self) -> None:
        self.views = self.scene.train_views
        self.extent = self.scene.extent
        self.rates = self.options.rates.boosted(self.options.steps)
        self.order = ViewOrder(len(self.views), self.seed)
        self.background = fixed_background(self.options.background, self.has_alpha)
        # Under photos with alpha a fixed background could be painted by Gaussians of its colour: draw another one each step.
        self.random = self.options.background == "random" or (self.options.background == "auto" and self.has_alpha)

    def first_views(self) -> dict[str, torch.Tensor]:
        """Per-photo parameters that are switched on."""
        count, device = len(self.views), self.renderer.backend.device
        wanted = {}
        if self.options.exposure:
            wanted["exposure"] = exposure.identity(count)
        if self.options.poses:
            wanted["poses"] = torch.zeros(count, 6)
        return {k: v.to(device).requires_grad_(True) for k, v in wanted.items()}

    def run(self, state: TrainingState, watch: Watch) -> TrainingState:
        """Train from state.step to options.steps, or until `watch.pause` says stop."""
        self.cache.prefetch([self.views[i] for i in self.order.ahead(state.step, PREFETCH)])
        started = time.perf_counter()
        while state.step < self.options.steps:
            row = self._step(state, watch)
            now = time.perf_counter()
            state.seconds += now - started
            row["seconds"] = state.seconds
            watch.row(row)
            if watch.pause(state):
                break
            started = time.perf_counter()
        return state

    def _step(self, state: TrainingState, watch: Watch) -> dict[str, float]:
        step, options = state.step + 1, self.options
        index = self.order.view(step)
        view = self.views[index]
        pixels = self.cache.get(view)
        self.cache.prefetch([self.views[self.order.view(step + PREFETCH)]])
        background = random_background(self.seed, step) if self.random else self.background
        state.model.active_degree = max(state.model.active_degree, options.degree_at(step))

        rendered = self.draw(state, view, index, background)
        loss = self.loss(rendered, pixels, background)
        extra = self.strategy.extra_loss(state.model)
        total = loss if extra is None else loss + extra
        value = float(loss.detach())
        if not np.isfinite(value):
            raise TrainingDiverged(f"step {step}, photo {view.name}: the loss is {value}; {_culprits(state)}")
        total.backward()

        means_rate = self.rates.means_at(step, options.steps, self.extent)
        params = state.model.params()
        bad = state.rows.optimizer.step(params, partial(self.rates.pattern, means_rate=means_rate))
        if bad:
            raise TrainingDiverged(
                f"step {step}, photo {view.name} (loss {value:.4f}): {_gradient_culprits(params, bad) or _culprits(state)}"
            )
        info = StepInfo(step, options.steps, self.seed, self.extent, options.max_gaussians, means_rate, rendered.aux)
        with torch.no_grad():
            if line := self.strategy.after_step(state.rows, state.strategy, info):
                watch.line(f"step {step}: {line}")
        if bad := self._step_views(state):
            raise TrainingDiverged(f"step {step}, photo {view.name}: the per-photo {bad[0]} are not finite")
        for p in state.model.params().values():
            p.grad = None
        if not len(state.model):
            raise TrainingDiverged(
                f"step {step}: every Gaussian was pruned; lower strategy.prune_opacity or check the poses"
            )
        state.step = step
        return {"step": step, "train/loss": value, "gaussians": len(state.model)}

    def draw(self, state: TrainingState, view: View, index: int, background: tuple[float, float, float]) -> Rendered:
        """The picture of a training photo with its own exposure and refined pose."""
        viewmat = None
        if "poses" in state.views:
            given = torch.as_tensor(view.camera.world_to_camera, dtype=torch.float32, device=state.model.device)
            viewmat = poses.moved(given, state.views["poses"][index])
        rendered = self.renderer(state.model, view.query, background, viewmat=viewmat)
        if rendered.aux["means2d"].requires_grad:
            rendered.aux["means2d"].retain_grad()
        if "exposure" in state.views:
            rgb = exposure.apply(state.views["exposure"][index], rendered.rgb)
            rendered = Rendered(rgb, rendered.alpha, rendered.depth, rendered.aux)
        return rendered

    def loss(self, rendered: Rendered, pixels: Any, background: tuple[float, float, float]) -> torch.Tensor:
        device = rendered.rgb.device
        mask = None if pixels.mask is None else torch.from_numpy(pixels.mask).to(device)
        return photometric_loss(
            rendered.rgb, target(pixels, background).to(device), ssim_weight=self.options.ssim_weight, mask=mask
        )

    def _step_views(self, state: TrainingState) -> list[str]:
        """Update the per-photo parameters; the names that are not finite now."""
        rates = {"exposure": self.options.exposure_rate, "poses": self.options.poses_rate}
        if not state.views:
            return []
        bad = state.views_adam.step(state.views, lambda name, width: np.full(width, rates[name], np.float32))
        for p in state.views.values():
            p.grad = None
        return bad


def _culprits(state: TrainingState) -> str:
    """Which parameter holds a non-finite number, and where first."""
    for name, p in state.model.params().items():
        rows = (~torch.isfinite(p.detach()).reshape(len(p), -1).all(1)).nonzero()[:, 0]
        if len(rows):
            return f"{name} is not finite in {len(rows)} Gaussians, first row {int(rows[0])}"
    for name, p in state.views.items():
        if not bool(torch.isfinite(p).all()):
            return f"the per-photo {name} are not finite"
    return "all parameters are finite: the photo or the renderer is at fault"


def _gradient_culprits(params: dict[str, torch.Tensor], names: list[str]) -> str:
    found = []
    for name in names:
        grad = params[name].grad
        assert grad is not None
        rows = (~torch.isfinite(grad).reshape(len(grad), -1).all(1)).nonzero()[:, 0]
        if len(rows):
            found.append(f"the gradient of {name} is not finite in {len(rows)} Gaussians, first row {int(rows[0])}")
    return "; ".join(found)
