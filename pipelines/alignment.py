"""Held-out poses refined on their own photo: what is left is not a matter of pose. Reported beside, never instead of, the plain score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..data.images.cache import ImageCache
from ..data.scene import View
from ..renderers.images.photometric import photometric_loss
from ..renderers.protocols import Model
from ..renderers.splats.render import SplatRenderer
from .optimizer import Adam
from .poses import moved
from .targets import Colour, target


def aligned_poses(
    model: Model,
    renderer: SplatRenderer,
    views: Sequence[View],
    cache: ImageCache,
    background: Colour,
    steps: int = 60,
    rate: float = 1e-3,
) -> dict[str, torch.Tensor]:
    """World-to-camera [4, 4] of every view by name; the given pose where refining did not lower the loss."""
    found = {}
    for view in views:
        given = torch.as_tensor(view.camera.world_to_camera, dtype=torch.float32, device=renderer.backend.device)
        pixels = cache.get(view)
        photo = target(pixels, background).to(given.device)
        mask = None if pixels.mask is None else torch.from_numpy(pixels.mask).to(given.device)
        delta = {"pose": torch.zeros(6, device=given.device, requires_grad=True)}
        adam = Adam(delta, eps=1e-8)
        best, least = given, float("inf")
        for _ in range(steps):
            pose = moved(given, delta["pose"])
            loss = photometric_loss(renderer(model, view.query, background, viewmat=pose).rgb, photo, mask=mask)
            if float(loss.detach()) < least:
                best, least = pose.detach(), float(loss.detach())
            loss.backward()
            adam.step(delta, lambda name, width: np.full(width, rate, np.float32))
            delta["pose"].grad = None
        found[view.name] = best
    for p in model.params().values():
        p.grad = None
    return found
