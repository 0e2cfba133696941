"""A trained model from disk, finished as evaluation and export see it, with the frame that it lives in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..data.scene import Frame, Query
from ..distributed import checkpoint
from ..renderers.splats.model import Primitives, Splats
from .exposure import bake
from .training_state import splats_of


@dataclass(frozen=True)
class LoadedSplats:
    """A trained model with the frame that it lives in: x_input = frame.scale * x_world + frame.origin."""

    splats: Splats
    frame: Frame
    antialiased: bool = False

    def params(self) -> dict[str, torch.Tensor]:
        return self.splats.params()

    def at(self, query: Query) -> Primitives:
        return self.splats.at(query)

    def __len__(self) -> int:
        return len(self.splats)


def of_checkpoint(found: checkpoint.Checkpoint) -> LoadedSplats:
    """The finished model: mean exposure baked in, as evaluation and export use it."""
    splats = splats_of(found)
    if (maps := found.tensors.get("views.exposure")) is not None:
        splats = Splats.from_gaussians(bake(splats.gaussians(), maps.numpy()))
    frame = found.meta["frame"]
    return LoadedSplats(splats, Frame(frame["scale"], np.asarray(frame["origin"])), found.meta["antialiased"])
