"""The Langevin noise kernel against the same formula in float64 with the reference generator."""

import torch
from sceneloom.data import philox
from sceneloom.pipelines.strategies.surgery import quat_to_matrix
from sceneloom.renderers.kernels.noise import wander
from sceneloom.renderers.kernels.pool import set_threads


def some(n: int):
    g = torch.Generator().manual_seed(0)
    means, quats, log_scales = (torch.randn(n, k, generator=g) for k in (3, 4, 3))
    return means, quats * 2, log_scales - 2, torch.randn(n, generator=g) * 3 - 5, torch.arange(n) * 7 + 2**33


def test_it_is_the_formula_with_philox_numbers():
    means, quats, log_scales, logits, ids = some(5000)
    before = means.clone()
    wander(means, quats, log_scales, logits, ids, seed=2**40 + 5, step=9, scale=0.3)
    z = torch.from_numpy(philox.normal(2**40 + 5, "wander", 9, ids.numpy(), 3))
    gate = 0.3 * torch.sigmoid(-100 * (logits.double().sigmoid() - 0.005))
    spread = quat_to_matrix(quats.double()) * log_scales.double().exp()[:, None, :]
    moved = torch.einsum("nij,nkj,nk->ni", spread, spread, z * gate[:, None])
    torch.testing.assert_close((means - before).double(), moved, rtol=1e-4, atol=1e-6)
    assert moved.abs().max() > 0.1


def test_a_row_depends_on_its_id_alone_and_not_on_threads():
    whole = some(5000)
    wander(*whole, seed=1, step=2, scale=1.0)
    for threads in (1, 3):
        set_threads(threads)
        part = [t[1234:1240].clone() for t in some(5000)]
        wander(*part, seed=1, step=2, scale=1.0)
        assert torch.equal(part[0], whole[0][1234:1240])
    set_threads(None)
