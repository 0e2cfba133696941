"""Strategy `mcmc`: a fixed budget of Gaussians that wander; dead ones move to where opaque ones are.

Kheradmand et al., "3D Gaussian Splatting as Markov Chain Monte Carlo" (NeurIPS 2024): stochastic gradient Langevin dynamics on the
means, relocation that leaves the picture as it was (eq. 9), and penalties on opacity and size that make room.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import torch

from ...data import philox
from ...renderers.splats.model import Splats
from .protocol import Rows, StepInfo
from .surgery import append


@dataclass(frozen=True)
class MCMC:
    """Knobs. noise is in units of the learning rate of the means; grow_share rows are added every `every` steps up to the budget."""

    every: int = 100
    grow_from: float = 0.05
    grow_until: float = 0.8
    grow_share: float = 0.05
    min_opacity: float = 0.005
    noise: float = 5e5
    opacity_penalty: float = 0.01
    scale_penalty: float = 0.01
    max_copies: int = 51

    @property
    def absgrad(self) -> bool:
        return False

    def start(self, rows: Rows) -> dict[str, Any]:
        return {}

    def extra_loss(self, model: Splats) -> torch.Tensor | None:
        p = model.params()
        return self.opacity_penalty * p["logits"].sigmoid().mean() + self.scale_penalty * p["log_scales"].exp().mean()

    def after_step(self, rows: Rows, state: dict[str, Any], info: StepInfo) -> str | None:
        line = None
        share = info.step / max(1, info.steps)
        if self.grow_from <= share <= self.grow_until and info.step % self.every == 0:
            moved = self._relocate(rows, info)
            born = self._grow(rows, info)
            line = f"moved {moved} dead, added {born}: {len(rows.model)} Gaussians"
        self._wander(rows, info)
        return line

    def _relocate(self, rows: Rows, info: StepInfo) -> int:
        """Dead rows become copies of living ones, drawn in proportion to opacity."""
        params = {k: v.detach() for k, v in rows.model.params().items()}
        opacity = params["logits"].sigmoid()
        dead = (opacity <= self.min_opacity).nonzero()[:, 0]
        alive = (opacity > self.min_opacity).nonzero()[:, 0]
        if not len(dead) or not len(alive):
            return 0
        ids = rows.ids[dead.cpu()].numpy()
        chosen = alive[_draw(opacity[alive], philox.uniform(info.seed, "relocate", info.step, ids)[:, 0])]
        _share(params, chosen, self.min_opacity, self.max_copies)
        for p in params.values():
            p[dead] = p[chosen]
        for name in params:
            rows.optimizer.reset(name, chosen)
            rows.optimizer.reset(name, dead)
        return len(dead)

    def _grow(self, rows: Rows, info: StepInfo) -> int:
        n = len(rows.model)
        count = max(0, min(info.max_gaussians, int((1 + self.grow_share) * n)) - n)
        if not count:
            return 0
        params = {k: v.detach() for k, v in rows.model.params().items()}
        ids = np.arange(rows.next_id, rows.next_id + count)
        u = philox.uniform(info.seed, "grow", info.step, ids)[:, 0]
        chosen = _draw(params["logits"].sigmoid(), u)
        _share(params, chosen, self.min_opacity, self.max_copies)
        change = append(n, chosen)
        rows.apply(change, {k: change.rows(v) for k, v in params.items()})
        return count

    def _wander(self, rows: Rows, info: StepInfo) -> None:
        """Noise on the means, shaped by each Gaussian's covariance and strongest where it is transparent."""
        p = {k: v.detach() for k, v in rows.model.params().items()}
        scale = self.noise * info.means_rate
        if p["means"].device.type == "cpu":
            from ...renderers.kernels.noise import wander

            wander(p["means"], p["quats"], p["log_scales"], p["logits"], rows.ids, info.seed, info.step, scale)
            return
        from .surgery import quat_to_matrix

        z = philox.normal(info.seed, "wander", info.step, rows.ids.numpy(), 3)
        z = torch.as_tensor(z, dtype=torch.float32, device=p["means"].device)
        gate = torch.sigmoid(-100.0 * (p["logits"].sigmoid() - 0.005))
        spread = quat_to_matrix(p["quats"]) * p["log_scales"].exp()[:, None, :]
        p["means"].add_(torch.einsum("nij,nkj,nk->ni", spread, spread, z * (gate * scale)[:, None]))


def _draw(weight: torch.Tensor, u: np.ndarray) -> torch.Tensor:
    """Indices drawn in proportion to weight [N] by inversion of u [M] in (0, 1); summed in float64 in index order."""
    total = np.cumsum(weight.cpu().numpy().astype(np.float64))
    index = np.minimum(np.searchsorted(total, u * total[-1], side="right"), len(total) - 1)
    return torch.as_tensor(index, device=weight.device)


def _share(params: dict[str, torch.Tensor], chosen: torch.Tensor, min_opacity: float, max_copies: int) -> None:
    """Rows drawn r times become r + 1 Gaussians on one spot: shrink opacity and size so that together they look the same (eq. 9)."""
    rows, drawn = torch.unique(chosen, return_counts=True)
    copies = (drawn + 1).clamp(max=max_copies)
    opacity = params["logits"][rows].sigmoid().double()
    new = 1 - (1 - opacity) ** (1.0 / copies)
    widen = _widening(new, copies, max_copies)
    new = new.clamp(min_opacity, 1 - 1e-6)
    params["logits"][rows] = torch.log(new / (1 - new)).float()
    params["log_scales"][rows] += torch.log(opacity / widen).float()[:, None]


def _widening(new: torch.Tensor, copies: torch.Tensor, max_copies: int) -> torch.Tensor:
    """sum_{i=1..n} sum_{k=0..i-1} C(i-1, k) (-1)^k / sqrt(k+1) new^(k+1), [M] float64."""
    total = torch.zeros_like(new)
    for i in range(1, int(copies.max()) + 1):
        term = sum(comb(i - 1, k) * (-1) ** k / (k + 1) ** 0.5 * new ** (k + 1) for k in range(i))
        total += torch.where(copies >= i, term, torch.zeros_like(new))
    return total
