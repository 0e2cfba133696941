"""The fused Adam against torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sceneloom.renderers.kernels import pool
from sceneloom.renderers.kernels.adam import adam_step


@pytest.mark.parametrize(
    ("rows", "rates"), [(101, [0.01]), (57, [0.01, 0.02, 0.03]), (33, [0.1] * 3 + [0.005] * 45), (4, [0.1] * 4)]
)
def test_steps_equal_torch(rows: int, rates: list[float]) -> None:
    g = torch.Generator().manual_seed(0)
    param = torch.randn(rows, len(rates), generator=g)
    columns = [param[:, k].clone().requires_grad_() for k in range(len(rates))]
    optimizer = torch.optim.Adam([{"params": [c], "lr": r} for c, r in zip(columns, rates, strict=True)], eps=1e-15)
    m, v = torch.zeros_like(param), torch.zeros_like(param)
    for step in range(1, 12):
        grad = torch.randn(param.shape, generator=g) * (torch.rand(param.shape, generator=g) > 0.3)
        for k, c in enumerate(columns):
            c.grad = grad[:, k].clone()
        optimizer.step()
        adam_step(param.numpy(), grad.numpy(), m.numpy(), v.numpy(), rates, step=step)
        wanted = torch.stack([c.detach() for c in columns], 1)
        assert (param - wanted).abs().max() < 1e-6 * step * max(1.0, float(wanted.abs().max()))


def test_bit_equal_for_any_number_of_threads() -> None:
    rng, results, before = np.random.default_rng(0), [], pool.threads()
    start, grad = rng.normal(size=(50_000, 3)).astype(np.float32), rng.normal(size=(50_000, 3)).astype(np.float32)
    for n in (1, 2, 5):
        pool.set_threads(n)
        param, m, v = start.copy(), np.zeros_like(start), np.zeros_like(start)
        for step in (1, 2, 3):
            adam_step(param, grad, m, v, [0.1, 0.2, 0.3], step=step)
        results.append(param.tobytes() + m.tobytes() + v.tobytes())
    pool.set_threads(before)
    assert results[0] == results[1] == results[2]


def test_bad_arguments_are_named() -> None:
    a = np.zeros(9, np.float32)
    with pytest.raises(ValueError, match="whole rows"):
        adam_step(a, a, a, a, [0.1, 0.1])
    with pytest.raises(ValueError, match="grad is float64"):
        adam_step(a, a.astype(np.float64), a, a, [0.1])
    with pytest.raises(ValueError, match="step is 0"):
        adam_step(a, a, a, a, [0.1], step=0)
