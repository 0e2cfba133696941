"""Adam as torch has it, and rates that fit the length of a run."""

import numpy as np
import pytest
import torch
from sceneloom.pipelines.optimizer import Adam, Rates, _update_torch


def test_both_paths_are_torchs_adam():
    g = torch.Generator().manual_seed(0)
    start = torch.randn(37, 4, 3, generator=g)
    grads = torch.randn(5, 37, 4, 3, generator=g)
    reference = start.clone().requires_grad_(True)
    theirs = torch.optim.Adam([reference], lr=3e-3, eps=1e-15)
    ours, plain = start.clone().requires_grad_(True), start.clone()
    adam, by_torch = Adam({"sh": ours}), Adam({"sh": plain})
    row = np.full(12, 3e-3, np.float32)
    for grad in grads:
        reference.grad, ours.grad = grad.clone(), grad.clone()
        theirs.step()
        assert adam.step({"sh": ours}, lambda name, width: row) == []
        by_torch.count += 1
        assert _update_torch(by_torch, plain, grad, by_torch.first["sh"], by_torch.second["sh"], row)
    torch.testing.assert_close(ours.detach(), reference.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(plain, reference.detach(), rtol=1e-5, atol=1e-6)


def test_rates_by_hand():
    rates = Rates()
    assert rates.boosted(30_000) == Rates(boost=1.0)
    assert rates.boosted(300_000) == Rates(boost=1.0)
    assert rates.boosted(7_500).log_scales == pytest.approx(2 * rates.log_scales)
    assert rates.boosted(7_500).logits == rates.logits
    assert rates.boosted(10).sh0 == pytest.approx(4 * rates.sh0)
    assert Rates(boost=1.5).boosted(10).quats == pytest.approx(1.5e-3)
    assert rates.means_at(0, 100, 2.0) == pytest.approx(3.2e-4)
    assert rates.means_at(100, 100, 2.0) == pytest.approx(3.2e-6)
    assert rates.means_at(50, 100, 2.0) == pytest.approx(3.2e-5)
    assert rates.pattern("sh", 12, 0.0).tolist() == pytest.approx([2.5e-3] * 3 + [1.25e-4] * 9)
