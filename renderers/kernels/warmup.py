"""Compile, or load from the cache, every kernel that training uses, before the clock of training starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from ..images.photometric import photometric_loss
from ..splats.cpu import fully_fused_projection, rasterize_to_pixels
from ..splats.cpu.harmonics import harmonics_colours
from . import jit
from .adam import adam_step
from .noise import wander


@dataclass(frozen=True)
class Warmup:
    """seconds it took; compiled: kernels that were not in the cache (0: the cache was warm)."""

    seconds: float
    compiled: int
    loaded: int

    @property
    def warm(self) -> bool:
        return self.compiled == 0


Progress = Callable[[int, int, str], None]


def compile_all(progress: Progress | None = None, channels: int = 3, absgrad: bool = False) -> Warmup:
    """Run a training step on a handful of Gaussians.

    progress   called as (done, total, what comes next), lastly as (total, total, "")
    channels   of the pictures that training draws; absgrad as in rasterization
    """
    begin = time.perf_counter()
    before = jit.compiled()
    steps = list(_step(channels, absgrad, dry=True))
    for done, name in enumerate(_step(channels, absgrad)):
        if progress is not None:
            progress(done, len(steps), name)
    if progress is not None:
        progress(len(steps), len(steps), "")
    after = jit.compiled()
    return Warmup(time.perf_counter() - begin, after[0] - before[0], after[1] - before[1])


def _step(channels: int, absgrad: bool, dry: bool = False) -> Iterator[str]:
    """A training step in pieces; yields the name of each piece before it runs (or, if dry, the names alone)."""
    n, size = 40, 16
    generator = torch.Generator().manual_seed(0)

    def some(*shape: int) -> torch.Tensor:
        return (torch.rand(*shape, generator=generator) + 0.1).requires_grad_()

    means, quats, scales, opacities, sh = some(n, 3), some(n, 4), some(n, 3), some(n), some(n, 16, 3)
    pose, K = torch.eye(4)[None], torch.tensor([[[16.0, 0, 8], [0, 16, 8], [0, 0, 1]]])
    target = torch.zeros(size, size, 3, dtype=torch.uint8)

    yield "projection"
    if not dry:
        radii, means2d, depths, conics, _ = fully_fused_projection(
            means, None, quats, scales, pose, K, size, size, opacities=opacities
        )
    yield "spherical harmonics"
    if not dry:
        colours = harmonics_colours(3, means, torch.zeros(1, 3), sh, radii)
        extra = colours if channels == 3 else colours[..., :1].expand(1, n, channels)
    yield "sorting, tiles and blending"
    if not dry:
        image, _ = rasterize_to_pixels(
            means2d, conics, extra, opacities[None], size, size, absgrad=absgrad, depths=depths.detach(), radii=radii
        )
    yield "gradient of blending"
    if not dry:
        (v_image,) = torch.autograd.grad(image.sum(), image, retain_graph=True)
        inner = torch.autograd.grad([image], [means2d, conics, colours], [v_image], retain_graph=True)
    yield "gradient of spherical harmonics"
    if not dry:
        torch.autograd.grad([colours], [sh, means], [inner[2]], retain_graph=True)
    yield "gradient of projection"
    if not dry:
        torch.autograd.grad([means2d, conics], [means, quats, scales], list(inner[:2]))
    yield "loss"
    if not dry:
        picture = image.detach()[0, ..., :1].expand(size, size, 3).clone().requires_grad_()
        for photo in (target, target.float()):  # as decoded, and composited on a background
            photometric_loss(picture, photo).backward()
    yield "Adam"
    if not dry:
        flat = [np.zeros(n * 3, np.float32) for _ in range(4)]
        adam_step(flat[0], flat[1], flat[2], flat[3], [1e-3] * 3)
    yield "noise"
    if not dry:
        moved, turns, sizes, faint = (t.detach().clone() for t in (means, quats, scales, opacities))
        wander(moved, turns, sizes, faint, torch.arange(n), 0, 1, 0.0)
