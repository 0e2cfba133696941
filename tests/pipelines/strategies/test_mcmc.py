"""Relocation leaves the picture as it was (3DGS-MCMC, eq. 9)."""

import numpy as np
import pytest
import torch
from sceneloom.pipelines.strategies.mcmc import _draw, _share, _widening


@pytest.mark.parametrize("copies", [1, 2, 3, 10])
def test_copies_on_one_spot_composite_to_the_old_opacity(copies):
    opacity = torch.tensor([0.05, 0.5, 0.9], dtype=torch.float64)
    new = 1 - (1 - opacity) ** (1 / copies)
    torch.testing.assert_close(1 - (1 - new) ** copies, opacity)
    if copies == 1:
        torch.testing.assert_close(
            opacity / _widening(new, torch.full((3,), 1), 51), torch.ones(3, dtype=torch.float64)
        )


def test_mass_of_copies_equals_mass_of_the_original():
    """The scale rule keeps the integral of the composited profile along a line through the centre."""
    opacity, n = 0.8, 4
    params = {"logits": torch.tensor([np.log(opacity / (1 - opacity))]).float(), "log_scales": torch.zeros(1, 3)}
    _share(params, torch.zeros(n - 1, dtype=torch.int64), 0.005, 51)
    alpha, sigma = params["logits"].sigmoid().item(), params["log_scales"].exp()[0, 0].item()
    x = np.linspace(-30, 30, 200_001)
    before = np.trapezoid(opacity * np.exp(-0.5 * x**2), x)
    after = np.trapezoid(1 - (1 - alpha * np.exp(-0.5 * (x / sigma) ** 2)) ** n, x)
    assert after == pytest.approx(before, rel=1e-4)
    assert sigma < 1


def test_draw_follows_the_weights():
    weight = torch.tensor([0.0, 1.0, 3.0])
    u = (np.arange(4000) + 0.5) / 4000
    assert np.bincount(_draw(weight, u).numpy(), minlength=3).tolist() == [0, 1000, 3000]
