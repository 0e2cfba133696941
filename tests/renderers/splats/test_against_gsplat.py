"""Projection and spherical harmonics against gsplat's own pure-torch code, which runs on a CPU."""

from __future__ import annotations

import inspect

import pytest
import torch
from sceneloom.renderers.splats import cpu

from .scenes import small_scene

gsplat = pytest.importorskip("gsplat")
theirs = pytest.importorskip("gsplat.cuda._torch_impl")


def close(got: torch.Tensor, want: torch.Tensor, tolerance: float = 1e-4) -> None:
    size = float(want.abs().max())
    assert float((got.double() - want.double()).abs().max()) <= tolerance * size + 1e-7


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cameras", [1, 3])
def test_projection_and_its_gradients(seed: int, cameras: int) -> None:
    scene = small_scene(seed, n=200, width=120, height=90)
    poses = torch.stack([scene.viewmat] * cameras)
    poses[:, :3, 3] += 0.3 * torch.randn(cameras, 3, generator=torch.Generator().manual_seed(seed))
    K = scene.K[None].expand(cameras, 3, 3).contiguous()
    names = ("means", "quats", "scales")
    ours = {k: scene.params[k].clone().requires_grad_() for k in names}
    our_poses = poses.clone().requires_grad_()
    radii, means2d, depths, conics, compensations = cpu.fully_fused_projection(
        ours["means"], None, ours["quats"], ours["scales"], our_poses, K, 120, 90, calc_compensations=True
    )
    exact = {k: scene.params[k].double().requires_grad_() for k in names}
    their_poses = poses.double().requires_grad_()
    covars, _ = theirs._quat_scale_to_covar_preci(exact["quats"], exact["scales"], True, False, False)
    r, m, d, c, f = theirs._fully_fused_projection(
        exact["means"], covars, their_poses, K.double(), 120, 90, calc_compensations=True
    )
    assert ((r - radii).abs() <= 1).all()
    assert ((r > 0).all(-1) == (radii > 0).all(-1)).float().mean() > 0.995
    seen = (radii > 0).all(-1) & (r > 0).all(-1)
    outputs = [(means2d, m), (depths, d), (conics, c), (compensations, f)]
    g = torch.Generator().manual_seed(1)
    mine, reference = torch.zeros(()), torch.zeros((), dtype=torch.float64)
    for got, want in outputs:
        close(got[seen], want[seen])
        weights = torch.randn(want.shape, generator=g, dtype=torch.float64) * (
            seen[..., None] if want.dim() == 3 else seen
        )
        mine = mine + (got * weights.float()).sum()
        reference = reference + (torch.where(weights != 0, want, 0.0) * weights).sum()
    mine.backward()
    reference.backward()
    for name in names:
        close(ours[name].grad, torch.nan_to_num(exact[name].grad), 2e-4)
    close(our_poses.grad[:, :3], torch.nan_to_num(their_poses.grad[:, :3]), 2e-4)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("stored", [1, 4, 9, 16])
def test_spherical_harmonics_and_their_gradients(degree: int, stored: int) -> None:
    g = torch.Generator().manual_seed(degree)
    dirs, coeffs = torch.randn(2, 37, 3, generator=g), torch.randn(2, 37, stored, 3, generator=g)
    if (degree + 1) ** 2 > stored:
        with pytest.raises(ValueError, match=f"wanted at least {(degree + 1) ** 2}"):
            cpu.spherical_harmonics(degree, dirs, coeffs)
        return
    masks = torch.rand(2, 37, generator=g) > 0.2
    weights = torch.randn(2, 37, 3, generator=g)
    ours = dirs.clone().requires_grad_(), coeffs.clone().requires_grad_()
    got = cpu.spherical_harmonics(degree, *ours, masks)
    (got * weights).sum().backward()
    exact = dirs.double().requires_grad_(), coeffs.double().requires_grad_()
    want = theirs._spherical_harmonics(degree, *exact) * masks[..., None]
    (want * weights).sum().backward()
    close(got.detach(), want.detach(), 1e-5)
    close(ours[1].grad, exact[1].grad, 1e-5)
    if degree:
        close(ours[0].grad, exact[0].grad, 1e-5)
    assert not ours[1].grad[..., (degree + 1) ** 2 :, :].any()


@pytest.mark.parametrize("name", ["rasterization", "fully_fused_projection", "spherical_harmonics"])
def test_arguments_have_gsplats_names_order_and_defaults(name: str) -> None:
    mine, other = (inspect.signature(getattr(m, name)).parameters for m in (cpu, gsplat))
    assert list(mine) == list(other)
    for key, parameter in mine.items():
        default = other[key].default
        if key != "rolling_shutter":  # an enum of gsplat's, by default "no rolling shutter"
            assert parameter.default == default or parameter.default is default, key


def test_rasterize_to_pixels_takes_gsplats_arguments_first() -> None:
    mine, other = (
        list(inspect.signature(cpu.rasterize_to_pixels).parameters),
        list(inspect.signature(gsplat.rasterize_to_pixels).parameters),
    )
    assert mine[: len(other)] == other
