"""Exposure maps and small rigid motions."""

import numpy as np
import torch
from sceneloom.data.gaussians import SH_C0, Gaussians
from sceneloom.pipelines import exposure, poses
from scipy.spatial.transform import Rotation


def gaussians(n=5, k=4, seed=0):
    r = np.random.default_rng(seed)
    f = np.float32
    return Gaussians(*(f(r.normal(size=s)) for s in ((n, 3), (n, 4), (n, 3), (n,), (n, k, 3))))


def test_baked_colours_are_the_mapped_colours_from_every_side():
    r = np.random.default_rng(1)
    maps = (np.eye(3, 4) + 0.1 * r.normal(size=(3, 3, 4))).astype(np.float32)
    g = gaussians()
    baked = exposure.bake(g, maps)
    basis = np.array([SH_C0, *r.normal(size=3)])
    before = 0.5 + np.einsum("k,nkc->nc", basis, g.sh)
    after = 0.5 + np.einsum("k,nkc->nc", basis, baked.sh)
    mean = maps.mean(0)
    np.testing.assert_allclose(after, before @ mean[:, :3].T + mean[:, 3], atol=1e-5)
    picture = torch.rand(4, 6, 3)
    torch.testing.assert_close(exposure.apply(exposure.identity(2)[1], picture), picture)


def test_alignment_recovers_an_affine_colour_change():
    r = np.random.default_rng(2)
    picture = r.uniform(size=(20, 30, 3))
    changed = picture @ (np.eye(3) + 0.2 * r.normal(size=(3, 3))) + 0.05
    np.testing.assert_allclose(exposure.aligned(picture, changed), changed, atol=1e-10)


def test_se3_agrees_with_scipy_and_is_smooth_at_zero():
    for scale in (1.0, 1e-3, 1e-6):
        twist = torch.tensor([0.3, -0.2, 0.5, *(scale * np.array([0.4, -0.7, 0.2]))], dtype=torch.float64)
        np.testing.assert_allclose(
            poses.se3(twist)[:3, :3], Rotation.from_rotvec(twist[3:].numpy()).as_matrix(), atol=1e-12
        )
    zero = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    assert torch.equal(poses.se3(zero).detach(), torch.eye(4, dtype=torch.float64))
    assert torch.autograd.gradcheck(poses.se3, zero)
    assert torch.autograd.gradcheck(poses.se3, torch.full((6,), 0.3, dtype=torch.float64, requires_grad=True))
