"""What the training loop asks of a strategy, and the table of rows that it may operate on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch

from ...renderers.splats.model import Splats
from ..optimizer import Adam
from .surgery import Params, Surgery


@dataclass
class Rows:
    """Everything that has one row per Gaussian: the model, the optimizer's moments and the global ids that key random numbers."""

    model: Splats
    optimizer: Adam
    ids: torch.Tensor
    next_id: int

    @staticmethod
    def of(model: Splats, optimizer: Adam) -> Rows:
        n = len(model)
        return Rows(model, optimizer, torch.arange(n), n)

    def apply(self, surgery: Surgery, params: Params) -> None:
        """Take the new rows; every appended row gets an id never used before."""
        self.model.replace(params)
        self.optimizer.follow(surgery)
        ids = self.ids[surgery.source.cpu()]
        born = len(ids) - len(torch.unique(ids))
        if born:
            first = torch.zeros(len(ids), dtype=torch.bool)
            order = torch.argsort(ids, stable=True)
            first[order] = torch.cat([torch.ones(1, dtype=torch.bool), ids[order][1:] != ids[order][:-1]])
            ids[~first] = self.next_id + torch.arange(int((~first).sum()))
            self.next_id += int((~first).sum())
        self.ids = ids


@dataclass(frozen=True)
class StepInfo:
    """What one step tells the strategy: step counts from 1; `aux` is Rendered.aux after backward; rates the learning rate of means."""

    step: int
    steps: int
    seed: int
    extent: float
    max_gaussians: int
    means_rate: float
    aux: dict[str, Any]


class Strategy(Protocol):
    """Grows and prunes. State is a dict of tensors and numbers so that a checkpoint can hold it."""

    @property
    def absgrad(self) -> bool: ...

    def start(self, rows: Rows) -> dict[str, Any]: ...

    def extra_loss(self, model: Splats) -> torch.Tensor | None: ...

    def after_step(self, rows: Rows, state: dict[str, Any], info: StepInfo) -> str | None:
        """Called after the optimizer. Returns a line for the log when something happened."""
        ...
