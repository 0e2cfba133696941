"""A tiny capture in memory: coloured Gaussians photographed by our own renderer from a ring of cameras."""

from dataclasses import dataclass

import numpy as np
import torch
from sceneloom.data.images.cache import ImageCache
from sceneloom.data.scene import Pixels, Points, Query, Scene, View, every_nth
from sceneloom.pipelines.strategies.growth import Growth
from sceneloom.pipelines.train import Trainer, TrainOptions
from sceneloom.pipelines.training_state import TrainingState
from sceneloom.renderers.splats.backends import choose
from sceneloom.renderers.splats.initialise import from_points
from sceneloom.renderers.splats.model import Splats
from sceneloom.renderers.splats.render import SplatRenderer

from ..renderers.splats.test_initialise import ring


@dataclass(frozen=True)
class Photo:
    pixels: Pixels

    def load(self) -> Pixels:
        return self.pixels


def blobs(n: int = 60, seed: int = 0) -> Points:
    r = np.random.default_rng(seed)
    return Points(r.uniform(-1, 1, (n, 3)), r.integers(0, 255, (n, 3)).astype(np.uint8))


def scene(views: int = 9, size: int = 48, gains: np.ndarray | None = None) -> Scene:
    """`views` photos of 60 blobs, every 8th held out; `gains` [V, 3] scale the colours of each photo."""
    truth = Splats.from_gaussians(from_points(blobs(), 4.0, 0, opacity=0.9))
    renderer = SplatRenderer(choose("cpu"))
    shots = []
    with torch.no_grad():
        for i, camera in enumerate(ring(views)):
            camera = camera.resized(size, size)
            rgb = renderer(truth, Query(camera), (0.1, 0.2, 0.3)).rgb.numpy()
            if gains is not None:
                rgb = rgb * gains[i]
            pixels = Pixels((rgb.clip(0, 1) * 255 + 0.5).astype(np.uint8))
            shots.append(View(f"ring/{i:02d}.png", camera, Photo(pixels)))
    start = blobs(seed=1)
    points = Points(start.xyz + 0.02, blobs().rgb)
    return Scene(tuple(shots), points, test=every_nth(views, 8), name="tiny")


def trainer(capture: Scene, strategy=None, seed: int = 0, **options) -> Trainer:
    options = {"steps": 40, "max_gaussians": 150, "background": (0.1, 0.2, 0.3)} | options
    strategy = strategy or Growth(every=5, grow_from=0.1, grow_until=0.9, grow_gradient=1e-6, reset_every=15)
    renderer = SplatRenderer(choose("cpu"), absgrad=strategy.absgrad)
    return Trainer(capture, renderer, strategy, TrainOptions(**options), ImageCache(1 << 26), seed, False)


def fresh(t: Trainer) -> TrainingState:
    g = from_points(t.scene.points, t.scene.extent, t.options.sh_degree)
    return TrainingState.fresh(Splats.from_gaussians(g), t.strategy, t.first_views())


def everything(state: TrainingState) -> dict[str, np.ndarray]:
    return {k: v.detach().numpy().copy() for k, v in state.tensors().items()}
