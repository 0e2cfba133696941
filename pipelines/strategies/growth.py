"""Strategy `default`: grow where the picture pulls on the Gaussians, split the large, copy the small, prune the faint.

Kerbl et al. 2023, section 5.2, with the absolute-gradient option of AbsGS (Ye et al. 2024) and a hard budget: candidates are taken
by falling gradient until `max_gaussians` is reached. Intervals are shares of the run, so that a short run has the same shape as a
long one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...data import philox
from ...renderers.splats.model import Splats
from . import surgery as cut
from .protocol import Rows, StepInfo


@dataclass(frozen=True)
class Growth:
    """Knobs. Gradients are of the mean in normalised pixels (half the picture's size), averaged over the views that saw the row.

    pace 'threshold' grows every row above `grow_gradient` (3DGS); 'budget' takes the strongest rows so that the count rises
    linearly to `max_gaussians` at `grow_until`, which fills a fixed budget whatever the scene.
    """

    pace: str = "threshold"
    grow_gradient: float = 2e-4
    absgrad: bool = False
    every: int = 100
    grow_from: float = 0.05
    grow_until: float = 0.6
    split_scale: float = 0.01
    prune_opacity: float = 0.005
    prune_scale: float = 0.5
    reset_every: int = 3000
    reset_opacity: float = 0.01

    def __post_init__(self) -> None:
        if self.pace not in ("threshold", "budget"):
            raise ValueError(f"strategy.pace={self.pace}: want threshold or budget")

    def start(self, rows: Rows) -> dict[str, Any]:
        n, device = len(rows.model), rows.model.device
        return {"gradient": torch.zeros(n, device=device), "seen": torch.zeros(n, device=device)}

    def extra_loss(self, model: Splats) -> torch.Tensor | None:
        return None

    def after_step(self, rows: Rows, state: dict[str, Any], info: StepInfo) -> str | None:
        first, last = self.grow_from * info.steps, self.grow_until * info.steps
        if info.step > last:
            return None
        self._observe(state, info.aux)
        line = None
        if info.step >= first and info.step % self.every == 0:
            line = self._refine(rows, state, info, rounds=1 + int((last - info.step) // self.every))
        if info.step % self.reset_every == 0 and info.step + self.every < last:
            self._reset_opacity(rows)
            line = (line + "; " if line else "") + f"opacity reset to {self.reset_opacity}"
        return line

    def _observe(self, state: dict[str, Any], aux: dict[str, Any]) -> None:
        """Add this view's pull on every visible row."""
        means2d = aux["means2d"]
        gradient = means2d.absgrad if self.absgrad else means2d.grad
        if gradient is None:
            return
        gradient = gradient.reshape(-1, 2)
        scaled = gradient * torch.tensor([aux["width"] / 2, aux["height"] / 2], device=gradient.device)
        visible = (aux["radii"] > 0).all(-1)
        state["gradient"] += torch.where(visible, torch.linalg.vector_norm(scaled, dim=-1), 0.0)
        state["seen"] += visible

    def _refine(self, rows: Rows, state: dict[str, Any], info: StepInfo, rounds: int) -> str:
        params = {k: v.detach() for k, v in rows.model.params().items()}
        before = len(rows.model)
        mean = state["gradient"] / state["seen"].clamp(min=1)
        grow = self._candidates(mean, before, info.max_gaussians, rounds)
        large = params["log_scales"].amax(1).exp() > self.split_scale * info.extent
        to_split, to_copy = (grow & large).nonzero()[:, 0], (grow & ~large).nonzero()[:, 0]
        change, params = cut.duplicate(params, to_copy)
        rows.apply(change, params)
        noise = self._noise(rows, to_split, info)
        change, params = cut.split(params, to_split, noise)
        rows.apply(change, params)
        keep = params["logits"].sigmoid() >= self.prune_opacity
        if info.step > self.reset_every:
            keep &= params["log_scales"].amax(1).exp() <= self.prune_scale * info.extent
        keep &= torch.isfinite(params["means"]).all(1)
        if bool(keep.any()):  # an empty scene cannot grow again
            change, params = cut.prune(params, keep)
            rows.apply(change, params)
        state.update(self.start(rows))
        born, gone = len(to_copy) + len(to_split), before + len(to_copy) + len(to_split) - len(rows.model)
        return f"grew {born} ({len(to_copy)} copied, {len(to_split)} split), pruned {gone}: {len(rows.model)} Gaussians"

    def _candidates(self, mean: torch.Tensor, count: int, budget: int, rounds: int) -> torch.Tensor:
        """[N] bool: the rows that grow now, strongest first; `rounds` is how often growth comes yet, this time included."""
        room = max(0, budget - count)
        if self.pace == "threshold":  # noqa: SIM108
            wanted = int((mean > self.grow_gradient).sum())
        else:
            wanted = min(-(-room // rounds), int((mean > 0).sum()))
        take = min(wanted, room)
        grow = torch.zeros(count, dtype=torch.bool, device=mean.device)
        grow[torch.argsort(mean, descending=True, stable=True)[:take]] = True
        return grow

    def _noise(self, rows: Rows, which: torch.Tensor, info: StepInfo) -> torch.Tensor:
        ids = rows.ids[which.cpu()].numpy()
        z = philox.normal(info.seed, "split", info.step, ids, 6).reshape(-1, 2, 3).transpose(1, 0, 2)
        return torch.as_tensor(z.copy(), dtype=torch.float32, device=which.device)

    def _reset_opacity(self, rows: Rows) -> None:
        logits = rows.model.params()["logits"].detach()
        logits.clamp_(max=float(np.log(self.reset_opacity / (1 - self.reset_opacity))))
        rows.optimizer.reset("logits")
