"""Adam over rows of Gaussians: one learning rate per parameter, a second one for the higher spherical harmonics.

Kingma & Ba, "Adam" (ICLR 2015), bias-corrected. On the CPU one fused kernel; elsewhere the same formula in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from .strategies.surgery import Surgery

Schedule = Callable[[int], float]


@dataclass(frozen=True)
class Rates:
    """Learning rates of 3D Gaussian Splatting; `means` is per unit of scene extent and decays exponentially to `means_end`.

    The published rates are for 30,000 steps. A shorter run takes larger ones: all but that of opacity are multiplied by `boost`,
    by default sqrt(30000 / steps) within 1 to 4, which is worth more than a decibel after a thousand steps.
    """

    means: float = 1.6e-4
    means_end: float = 1.6e-6
    quats: float = 1e-3
    log_scales: float = 5e-3
    logits: float = 5e-2
    sh0: float = 2.5e-3
    sh_rest: float = 1.25e-4
    boost: float | None = None

    def boosted(self, steps: int) -> Rates:
        """The rates of a run of `steps`, with boost 1 left to apply."""
        factor = min(4.0, max(1.0, (30_000 / max(1, steps)) ** 0.5)) if self.boost is None else self.boost
        names = ("means", "means_end", "quats", "log_scales", "sh0", "sh_rest")
        return replace(self, boost=1.0, **{name: factor * getattr(self, name) for name in names})

    def means_at(self, step: int, steps: int, extent: float) -> float:
        share = min(1.0, step / max(1, steps))
        return extent * float(np.exp((1 - share) * np.log(self.means) + share * np.log(self.means_end)))

    def pattern(self, name: str, width: int, means_rate: float) -> np.ndarray:
        """Learning rate of every column of a parameter whose rows are `width` wide, [width] float32."""
        if name == "sh":
            row = np.full(width, self.sh_rest, np.float32)
            row[:3] = self.sh0
            return row
        return np.full(width, means_rate if name == "means" else getattr(self, name), np.float32)


class Adam:
    """step(params, rates) updates leaves in place from their .grad. Moments follow densification by `follow`."""

    def __init__(
        self, params: dict[str, torch.Tensor], beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-15
    ) -> None:
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.count = 0
        self.first = {k: torch.zeros_like(p, requires_grad=False) for k, p in params.items()}
        self.second = {k: torch.zeros_like(p, requires_grad=False) for k, p in params.items()}

    def step(self, params: dict[str, torch.Tensor], rate: Callable[[str, int], np.ndarray]) -> list[str]:
        """One update. `rate(name, width)` gives the learning rates of a row. Returns the names that are not finite now,
        by their gradient or before: the caller stops and keeps the last checkpoint.
        """
        self.count += 1
        culprits = []
        for name, p in params.items():
            if p.grad is None:
                continue
            width = p[0].numel() if len(p) else 1
            row = rate(name, width)
            update = _update_cpu if p.device.type == "cpu" else _update_torch
            if not update(self, p.detach(), p.grad, self.first[name], self.second[name], row):
                culprits.append(name)
        return culprits

    def follow(self, surgery: Surgery) -> None:
        self.first = {k: surgery.moments(v) for k, v in self.first.items()}
        self.second = {k: surgery.moments(v) for k, v in self.second.items()}

    def reset(self, name: str, rows: torch.Tensor | None = None) -> None:
        """Forget the moments of a parameter, in all rows or in some."""
        for moments in (self.first[name], self.second[name]):
            if rows is None:
                moments.zero_()
            else:
                moments[rows] = 0


def _update_cpu(
    adam: Adam, p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor, row: np.ndarray
) -> bool:
    from ..renderers.kernels.adam import adam_step

    param, grad, first, second = (t.reshape(-1).numpy() for t in (p, g.contiguous(), m, v))
    return adam_step(param, grad, first, second, row, adam.beta1, adam.beta2, adam.eps, adam.count)


def _update_torch(
    adam: Adam, p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor, row: np.ndarray
) -> bool:
    rate = torch.as_tensor(row, device=p.device).reshape(p.shape[1:] if p.dim() > 1 else (1,))
    m.lerp_(g, 1 - adam.beta1)
    v.mul_(adam.beta2).addcmul_(g, g, value=1 - adam.beta2)
    scale1, scale2 = 1 - adam.beta1**adam.count, 1 - adam.beta2**adam.count
    p.sub_(rate * (m / scale1) / ((v / scale2).sqrt_() + adam.eps))
    return bool(torch.isfinite(p).all())
