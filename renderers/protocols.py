"""What higher floors may expect of a model and of a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from ..data.scene import Query


@dataclass(frozen=True)
class Rendered:
    """One picture. rgb [H, W, 3] float32 (not clamped), alpha [H, W, 1], depth [H, W, 1] or None.

    aux keys (fixed set, each may be missing): 'means2d' (leaf whose .grad / .absgrad feeds densification), 'radii' [N, 2],
    'width', 'height'.
    """

    rgb: torch.Tensor
    alpha: torch.Tensor
    depth: torch.Tensor | None = None
    aux: dict[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """A trained or trainable scene: static, dynamic, spiking, quantised are all Models."""

    def params(self) -> dict[str, torch.Tensor]:
        """Named leaf parameters."""
        ...

    def at(self, query: Query) -> Any:
        """The primitives that a renderer of this family draws for a query."""
        ...
