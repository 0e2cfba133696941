"""Everything that a training run is at a step, and its way into a checkpoint and back, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..data.errors import InputError
from ..distributed.checkpoint import Checkpoint
from ..renderers.splats.model import PARAMETERS, Splats
from .optimizer import Adam
from .strategies.protocol import Rows, Strategy


@dataclass
class TrainingState:
    """step: finished steps. seconds: training time so far. views: the per-photo parameters by name ('exposure', 'poses')."""

    rows: Rows
    strategy: dict[str, Any]
    views: dict[str, torch.Tensor]
    views_adam: Adam
    step: int = 0
    seconds: float = 0.0

    @property
    def model(self) -> Splats:
        return self.rows.model

    @staticmethod
    def fresh(model: Splats, strategy: Strategy, views: dict[str, torch.Tensor], degree: int = 0) -> TrainingState:
        """A start: `degree` is that of the spherical harmonics the model already knows (0 for points)."""
        model.active_degree = degree
        rows = Rows.of(model, Adam(model.params()))
        return TrainingState(rows, strategy.start(rows), views, Adam(views, eps=1e-8))

    def tensors(self) -> dict[str, torch.Tensor]:
        """Named tensors for the checkpoint."""
        adam, views = self.rows.optimizer, self.views_adam
        parts: dict[str, dict[str, torch.Tensor]] = {
            "model": self.model.params(),
            "adam.first": adam.first,
            "adam.second": adam.second,
            "strategy": {k: v for k, v in self.strategy.items() if isinstance(v, torch.Tensor)},
            "views": self.views,
            "views_adam.first": views.first,
            "views_adam.second": views.second,
            "rows": {"ids": self.rows.ids},
        }
        return {f"{part}.{name}": t for part, named in parts.items() for name, t in named.items()}

    def meta(self) -> dict[str, Any]:
        """Plain values for the checkpoint."""
        return {
            "family": "splats",
            "step": self.step,
            "seconds": self.seconds,
            "gaussians": len(self.model),
            "active_degree": self.model.active_degree,
            "adam_count": self.rows.optimizer.count,
            "views_adam_count": self.views_adam.count,
            "next_id": self.rows.next_id,
            "strategy": {k: v for k, v in self.strategy.items() if not isinstance(v, torch.Tensor)},
        }

    @staticmethod
    def restored(checkpoint: Checkpoint, strategy: Strategy, device: torch.device) -> TrainingState:
        """The state of a checkpoint; InputError if it was trained with another strategy."""
        t, meta = checkpoint.tensors, checkpoint.meta

        def part(name: str) -> dict[str, torch.Tensor]:
            prefix = name + "."
            found = {k.removeprefix(prefix): v for k, v in t.items() if k.startswith(prefix)}
            return {k: v.to(device) for k, v in found.items() if "." not in k}

        model = splats_of(checkpoint, device)
        rows = Rows.of(model, _adam(part("adam.first"), part("adam.second"), meta["adam_count"]))
        rows.ids, rows.next_id = t["rows.ids"], meta["next_id"]
        state = part("strategy") | meta["strategy"]
        wanted = strategy.start(rows)
        if set(state) != set(wanted):
            raise InputError(
                f"checkpoint {checkpoint.path} was trained with another strategy (it holds {sorted(state)}, "
                f"this one keeps {sorted(wanted)}); set strategy= as in that run, or train.init= to start anew from it"
            )
        views = {k: v.requires_grad_(True) for k, v in part("views").items()}
        views_adam = _adam(part("views_adam.first"), part("views_adam.second"), meta["views_adam_count"], eps=1e-8)
        return TrainingState(rows, state, views, views_adam, checkpoint.step, meta["seconds"])


def splats_of(checkpoint: Checkpoint, device: torch.device | str = "cpu") -> Splats:
    """The model alone."""
    params = {k: checkpoint.tensors[f"model.{k}"].to(device) for k in PARAMETERS}
    return Splats(params, checkpoint.meta["active_degree"])


def _adam(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], count: int, **options: float) -> Adam:
    adam = Adam({}, **options)
    adam.first, adam.second, adam.count = first, second, count
    return adam
