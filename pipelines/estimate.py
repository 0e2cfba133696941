"""One honest line before step 0: how long, how much memory. Measured on this machine with the first model, then scaled."""

from __future__ import annotations

import time

from .train import Trainer
from .training_state import TrainingState

FLOATS = 59  # of one Gaussian with spherical harmonics of degree 3
COPIES = 4  # parameter, gradient, two moments
WORKSPACE = 1200  # bytes a Gaussian that projection, sorting and the backward pass keep


def estimate(trainer: Trainer, training: TrainingState) -> str:
    """Draws the first photo three times forward and backward and leaves no trace in the state."""
    left = trainer.options.steps - training.step
    view = trainer.views[0]
    pixels = trainer.cache.get(view)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        rendered = trainer.draw(training, view, 0, trainer.background)
        trainer.loss(rendered, pixels, trainer.background).backward()
        seconds.append(time.perf_counter() - started)
    for p in [*training.model.params().values(), *training.views.values()]:
        p.grad = None
    now = len(training.model)
    most = max(now, trainer.options.max_gaussians)
    low = left * min(seconds[1:]) * 1.15
    high = low * (0.5 + 0.5 * most / max(1, now)) if most > now else low * 1.3
    memory = most * (FLOATS * 4 * COPIES + WORKSPACE) + trainer.cache.budget + 300 * 2**20
    return (
        f"about {_span(low)} to {_span(min(high, 4 * low))} for {left} steps from {now} Gaussians "
        f"(at most {most}), up to {memory / 2**30:.1f} GiB of memory"
    )


def _span(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )
