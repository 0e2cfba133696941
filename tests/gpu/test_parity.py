"""The CUDA back end draws what the CPU back end draws, and trains to the same quality. Run with: pytest -m gpu tests/gpu"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sceneloom.data.scene import Query
from sceneloom.pipelines.evaluate import mean, score
from sceneloom.pipelines.strategies.growth import Growth
from sceneloom.pipelines.strategies.mcmc import MCMC
from sceneloom.pipelines.train import Watch
from sceneloom.renderers.splats.backends import choose, cuda_problem
from sceneloom.renderers.splats.initialise import from_points
from sceneloom.renderers.splats.model import Splats
from sceneloom.renderers.splats.render import SplatRenderer

from ..pipelines.tiny import blobs, fresh, scene, trainer
from ..renderers.splats.test_initialise import ring

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


@pytest.fixture(scope="module")
def cuda():
    assert cuda_problem() is None
    return choose("cuda")


def drawn(backend, antialiased, weights):
    g = from_points(blobs(400), 4.0, 3, opacity=0.6)
    g.sh[:, 1:] = np.random.default_rng(0).normal(size=g.sh[:, 1:].shape) * 0.1
    model = Splats.from_gaussians(g, device=backend.device)
    picture = SplatRenderer(backend, antialiased=antialiased)(model, Query(ring()[0]), (0.2, 0.3, 0.4), depth=True)
    ((picture.rgb * weights.to(backend.device)).mean() + picture.alpha.mean()).backward()
    grads = {k: p.grad.cpu() for k, p in model.params().items()}
    return picture.rgb.detach().cpu(), picture.depth.detach().cpu(), grads


@pytest.mark.parametrize("antialiased", [False, True])
def test_picture_and_gradients_agree(cuda, antialiased):
    weights = torch.randn(64, 64, 3, generator=torch.Generator().manual_seed(0))
    ours, theirs = (drawn(b, antialiased, weights) for b in (choose("cpu"), cuda))
    for a, b in zip(ours[:2], theirs[:2], strict=True):
        off = (a - b).abs() > 1e-3 * b.abs().max()
        assert off.float().mean() < 2e-3  # isolated pixels flip at the alpha threshold
    for name, grad in ours[2].items():
        error = torch.linalg.vector_norm(grad - theirs[2][name]) / torch.linalg.vector_norm(theirs[2][name])
        assert error < 1e-2, name


@pytest.mark.parametrize("strategy", [Growth(every=20, grow_gradient=1e-6), MCMC(every=20)], ids=["default", "mcmc"])
def test_three_hundred_steps_reach_the_cpu_quality(cuda, strategy):
    capture, quality = scene(), {}
    for backend in (choose("cpu"), cuda):
        t = trainer(capture, strategy, steps=300)
        t.renderer = replace(t.renderer, backend=backend)
        start = fresh(t)
        if backend.name == "cuda":
            g = from_points(capture.points, capture.extent, 3)
            start = type(start).fresh(Splats.from_gaussians(g, device=backend.device), strategy, t.first_views())
        state = t.run(start, Watch(lambda row: None, lambda line: None, lambda s: False))
        scores = score(state.model, t.renderer, capture.train_views, t.cache, t.background)
        quality[backend.name] = mean(scores, "psnr")
    assert quality["cuda"] == pytest.approx(quality["cpu"], abs=1.0)
