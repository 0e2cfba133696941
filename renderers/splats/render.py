"""Whole pictures of a splat model through either back end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ...data.scene import Query
from ..protocols import Model, Rendered
from .backends import Backend

NEAR = 0.01


@dataclass(frozen=True)
class SplatRenderer:
    """render(model, query) -> Rendered. Near plane and blur are in world units and pixels; see gsplat for `eps2d`."""

    backend: Backend
    antialiased: bool = False
    absgrad: bool = False
    near: float = NEAR

    def __call__(
        self,
        model: Model,
        query: Query,
        background: torch.Tensor | Sequence[float] | None = None,
        depth: bool = False,
        viewmat: torch.Tensor | None = None,
    ) -> Rendered:
        """One picture. `background` [3] (black if None); `viewmat` [4, 4] overrides the query's pose (pose refinement)."""
        device = self.backend.device
        camera = query.camera
        p = model.at(query)
        given = torch.as_tensor(camera.world_to_camera, dtype=torch.float32).to(device)
        pose = given if viewmat is None else viewmat
        K = torch.as_tensor(camera.K, dtype=torch.float32).to(device)
        behind = None if background is None else torch.as_tensor(background, dtype=torch.float32).to(device)[None]
        colors, alphas, meta = self.backend.rasterization(
            means=p.means,
            quats=p.quats,
            scales=p.scales,
            opacities=p.opacities,
            colors=p.sh,
            viewmats=pose[None],
            Ks=K[None],
            width=camera.width,
            height=camera.height,
            near_plane=self.near,
            sh_degree=p.sh_degree,
            packed=False,
            backgrounds=behind,
            render_mode="RGB+ED" if depth else "RGB",
            absgrad=self.absgrad,
            rasterize_mode="antialiased" if self.antialiased else "classic",
        )
        aux = {
            "means2d": meta["means2d"],
            "radii": meta["radii"][0],
            "width": camera.width,
            "height": camera.height,
        }
        return Rendered(colors[0, ..., :3], alphas[0], colors[0, ..., 3:4] if depth else None, aux)
