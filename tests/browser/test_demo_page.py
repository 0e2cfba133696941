"""The page that a run of the demo exports shows what the run's own renderer draws from the photos' cameras."""

import numpy as np
import pytest
from sceneloom import load_capture, load_model, render
from sceneloom.data.demo import demo_capture
from sceneloom.pipelines.cli.app import run

from ..viewer.dense_splats import psnr
from .test_pixels import pixels

pytestmark = pytest.mark.browser


def test_the_exported_demo_draws_what_we_render(open_page, tmp_path):
    capture, out = demo_capture(width=96, views=12), tmp_path / "run"
    words = [f"data.path={capture}", f"out={out}", "train.steps=150", "train.max_gaussians=3000", "log.wandb=disabled"]
    assert run(["reconstruct", *words, "export.formats=[html]"]) == 0
    scene, model = load_capture(capture), load_model(out)
    page = open_page(out / "exports" / "viewer.html")
    for view in scene.views[::4]:
        ours = render(model, view.camera, (0.0, 0.0, 0.0)).rgb.numpy().clip(0, 1)
        assert psnr(pixels(page, view.camera), ours) >= 40
        assert np.ptp(ours) > 0.5, "a picture, not a blank"
