"""The splat model: raw parameters as leaf tensors, and the activated Gaussians that a rasterizer draws.

Kerbl et al., "3D Gaussian Splatting for Real-Time Radiance Field Rendering" (SIGGRAPH 2023): opacity through a sigmoid, scales
through an exponential, view-dependent colour as spherical harmonics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ...data.gaussians import Gaussians
from ...data.scene import Query

# One row per Gaussian; the trailing shape of each parameter. K = (sh_degree + 1)^2.
PARAMETERS = ("means", "quats", "log_scales", "logits", "sh")


@dataclass(frozen=True)
class Primitives:
    """Activated Gaussians: means [N,3], quats [N,4] (w,x,y,z), scales [N,3], opacities [N], sh [N,K,3], degree used for colour."""

    means: torch.Tensor
    quats: torch.Tensor
    scales: torch.Tensor
    opacities: torch.Tensor
    sh: torch.Tensor
    sh_degree: int


class Splats:
    """N Gaussians with leaf parameters. `active_degree` <= stored degree is what `at` asks to be evaluated (the SH schedule)."""

    def __init__(self, params: dict[str, torch.Tensor], active_degree: int | None = None) -> None:
        if set(params) != set(PARAMETERS):
            raise ValueError(f"splat parameters: got {sorted(params)}, want {sorted(PARAMETERS)}")
        self._params = {k: params[k].detach().contiguous().requires_grad_(True) for k in PARAMETERS}
        self.active_degree = self.max_degree if active_degree is None else active_degree

    def params(self) -> dict[str, torch.Tensor]:
        return self._params

    def __len__(self) -> int:
        return len(self._params["means"])

    @property
    def max_degree(self) -> int:
        return round(self._params["sh"].shape[1] ** 0.5) - 1

    @property
    def device(self) -> torch.device:
        return self._params["means"].device

    def at(self, query: Query) -> Primitives:
        """A static scene is the same for every query."""
        p = self._params
        return Primitives(
            p["means"], p["quats"], p["log_scales"].exp(), p["logits"].sigmoid(), p["sh"], self.active_degree
        )

    def replace(self, params: dict[str, torch.Tensor]) -> None:
        """Take new rows (after densification or pruning); old leaves are dropped."""
        self._params = {k: params[k].detach().contiguous().requires_grad_(True) for k in PARAMETERS}

    def gaussians(self) -> Gaussians:
        """A copy at rest, in the model's own (world) frame, with the spherical harmonics that are active."""
        p = {k: v.detach().cpu().numpy().copy() for k, v in self._params.items()}
        sh = np.ascontiguousarray(p["sh"][:, : (self.active_degree + 1) ** 2])
        return Gaussians(p["means"], p["quats"], p["log_scales"], p["logits"], sh)

    @staticmethod
    def from_gaussians(g: Gaussians, degree: int | None = None, device: torch.device | str = "cpu") -> Splats:
        """Leaves from arrays; `degree` pads with zeros or cuts the spherical harmonics."""
        sh = g.sh
        if degree is not None and degree != g.degree:
            want = (degree + 1) ** 2
            sh = np.zeros((len(g), want, 3), np.float32)
            keep = min(want, g.sh.shape[1])
            sh[:, :keep] = g.sh[:, :keep]
        arrays = {"means": g.means, "quats": g.quats, "log_scales": g.log_scales, "logits": g.logits, "sh": sh}
        return Splats({k: torch.tensor(np.asarray(a, np.float32), device=device) for k, a in arrays.items()})
