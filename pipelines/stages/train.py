"""Train: first Gaussians or the newest whole checkpoint -> trained state, with metrics rows, evaluations and checkpoints on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from ...data.errors import InputError
from ...data.sfm.run import SfmOptions
from ...distributed import checkpoint
from ...renderers.splats.model import Splats
from ..configuration import keep_settings
from ..estimate import estimate
from ..evaluate import mean, score
from ..finished_model import finished
from ..first_gaussians import FirstGaussians
from ..instantiate import instantiate
from ..interrupt import Interrupt
from ..optimizer import Rates
from ..run_folder import RunFolder, fingerprint
from ..strategies.protocol import Strategy
from ..train import Trainer, TrainOptions, Watch
from ..training_state import TrainingState
from .load import pose_marks, require_same_poses, scene_fingerprint
from .state import State


def options_of(train: dict[str, Any]) -> TrainOptions:
    """The `train` node as options."""
    return TrainOptions(**{**train, "rates": Rates(**train.get("rates", {}))})


@dataclass(frozen=True)
class Train:
    name: str = "train"

    def inputs(self, state: State) -> str:
        assert state.scene is not None
        config = {k: state.config[k] for k in ("train", "strategy", "model", "seed")}
        return fingerprint(config, scene_fingerprint(state.scene))

    def present(self, state: State) -> bool:
        found, _ = checkpoint.latest(state.run.checkpoints)
        return found is not None and found.step >= int(state.config["train"]["steps"])

    def run(self, state: State) -> State:
        assert state.scene is not None
        assert state.cache is not None
        config, log = state.config, state.log
        options = options_of(config["train"])
        strategy: Strategy = instantiate(config["strategy"])
        renderer = replace(state.renderer, absgrad=strategy.absgrad)
        trainer = Trainer(state.scene, renderer, strategy, options, state.cache, config["seed"], state.has_alpha)
        training = self._start(state, trainer)
        keep_settings(state.run, config)
        if training.step >= options.steps:
            if not checkpoint.steps(state.run.checkpoints):  # train.steps=0: a model taken over as it is
                save(state.run, trainer, training)
            log.line(f"training: finished at step {training.step}, nothing left of train.steps={options.steps}")
            return replace(state, training=training)
        log.line(estimate(trainer, training))
        state.run.forget("evaluate", "export")
        log.start(training.step, options.steps)
        with Interrupt() as interrupt:
            watch = _Watching(state, trainer, interrupt)
            try:
                trainer.run(training, Watch(watch.row, log.line, watch.pause))
            finally:
                log.stop()
        if interrupt.wanted and training.step < options.steps:
            return replace(state, training=training, interrupted=True)
        log.line(
            f"trained {training.step} steps in {training.seconds:.1f} s "
            f"({len(training.model)} Gaussians, {1e3 * training.seconds / max(1, training.step):.1f} ms a step)"
        )
        return replace(state, training=training)

    def _start(self, state: State, trainer: Trainer) -> TrainingState:
        """Resume from the newest whole checkpoint if the run has one, else begin."""
        device = trainer.renderer.backend.device
        found, warnings = checkpoint.latest(state.run.checkpoints)
        for warning in warnings:
            state.log.warn(warning)
        if found is None:
            state.log.truncate_after(0)
            scene, options = state.scene, trainer.options
            assert scene is not None
            assert state.cache is not None
            first = FirstGaussians(
                scene,
                state.cache,
                options,
                SfmOptions(**state.config["data"]["sfm"]),
                state.config["threads"],
                trainer.seed,
                state.has_alpha,
                state.log,
            )
            g, degree = first.make()
            model = Splats.from_gaussians(g, options.sh_degree, device)
            return TrainingState.fresh(model, trainer.strategy, trainer.first_views(), degree)
        self._require_fit(state, trainer, found)
        training = TrainingState.restored(found, trainer.strategy, device)
        state.log.line(f"resuming after step {training.step} of {trainer.options.steps} ({found.path.name})")
        if (old := found.meta["steps"]) != trainer.options.steps:
            state.log.line(f"train.steps was {old}: rates and schedules now end at {trainer.options.steps}")
        state.log.truncate_after(training.step)
        return training

    def _require_fit(self, state: State, trainer: Trainer, found: checkpoint.Checkpoint) -> None:
        """InputError where the checkpoint cannot be continued with these settings."""
        meta, options, where = found.meta, trainer.options, found.path
        anew = f"set it as in that run, or start anew with train.init={state.run.path}"
        if not state.config["resume"]:
            raise InputError(
                f"out={state.run.path} holds a run already: resume=true goes on with it, another out= starts anew"
            )
        require_same_poses(trainer.scene, meta["poses"], str(where))
        if meta["train_views"] != len(trainer.views):
            raise InputError(
                f"{where} was trained on {meta['train_views']} photos, data.* now gives {len(trainer.views)}; {anew}"
            )
        stored = sorted(k.removeprefix("views.") for k in found.tensors if k.startswith("views."))
        wanted = sorted(k for k in ("exposure", "poses") if getattr(options, k))
        for key, then, now in (
            ("seed", meta["seed"], trainer.seed),
            ("train.sh_degree", round(found.tensors["model.sh"].shape[1] ** 0.5) - 1, options.sh_degree),
            ("train.exposure, train.poses: what is learned per photo", stored, wanted),
        ):
            if then != now:
                raise InputError(f"{key} was {then} in {where} and is {now} now; {anew}")
        if meta["gaussians"] > options.max_gaussians:
            raise InputError(
                f"train.max_gaussians={options.max_gaussians}, but {where} has {meta['gaussians']} already; "
                f"raise it, or start anew with train.init={state.run.path}"
            )


class _Watching:
    """Rows, evaluations and checkpoints between steps."""

    def __init__(self, state: State, trainer: Trainer, interrupt: Interrupt) -> None:
        self.state, self.trainer, self.interrupt = state, trainer, interrupt
        self.every_row = int(state.config["log"]["every"])
        self.every_test = int(state.config["evaluate"]["every"] or 0)
        self.last_row: dict[str, float] = {}

    def row(self, row: dict[str, float]) -> None:
        self.last_row = row

    def pause(self, training: TrainingState) -> bool:
        step, options = training.step, self.trainer.options
        last = step == options.steps
        row = dict(self.last_row)
        tested = (
            self.every_test and (step % self.every_test == 0 or last) and self.state.scene and self.state.scene.test
        )
        if tested:
            row |= self._test(training)
        self.state.log.progress(row)
        if tested or last or step % self.every_row == 0 or step == 1:
            self.state.log.row(row)
        stop = self.interrupt.wanted
        if last or stop or step % options.checkpoint_every == 0:
            save(self.state.run, self.trainer, training)
        return stop

    def _test(self, training: TrainingState) -> dict[str, float]:
        state = self.state
        assert state.scene is not None
        assert state.cache is not None
        with torch.no_grad():
            model = finished(training)
            scores = score(model, state.renderer, state.scene.test_views, state.cache, state.background)
        return {f"test/{k}": value for k in ("psnr", "ssim") if (value := mean(scores, k)) is not None}


def save(run: RunFolder, trainer: Trainer, training: TrainingState) -> None:
    """One checkpoint, with what its readers must know beside the state itself."""
    frame = trainer.scene.frame
    meta = training.meta() | {
        "train_views": len(trainer.views),
        "poses": pose_marks(trainer.scene),
        "steps": trainer.options.steps,
        "seed": trainer.seed,
        "antialiased": trainer.renderer.antialiased,
        "frame": {"scale": frame.scale, "origin": frame.origin.tolist()},
    }
    checkpoint.save(run.checkpoints, training.step, training.tensors(), meta)
