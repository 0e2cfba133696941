"""Pictures and gradients of the CPU back end against the dense float64 reference."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sceneloom.renderers.splats.cpu import rasterization

from ...reference import splats as reference
from .scenes import SmallScene, small_scene

NAMES = ("means", "quats", "scales", "opacities", "colours")
TOLERANCE = 1e-4


def compare(scene: SmallScene, seed: int, mode: str = "RGB", antialiased: bool = False, absgrad: bool = False) -> None:
    """The picture where the reference is sure of it, and the gradient of a random linear function of those pixels."""
    g = torch.Generator().manual_seed(seed)
    depth = mode != "RGB"
    channels = scene.params["colours"].shape[1]
    background = torch.randn(channels, generator=g)

    exact = {k: v.double().requires_grad_() for k, v in scene.params.items()}
    pose, ground = scene.viewmat.double().requires_grad_(), background.double().requires_grad_()
    full_ground = torch.cat([ground, torch.zeros(1, dtype=torch.float64)]) if depth else ground
    drawn = reference.render(
        *(exact[k] for k in NAMES),
        pose,
        scene.K.double(),
        scene.width,
        scene.height,
        full_ground,
        antialiased=antialiased,
        depth=depth,
    )
    wanted = drawn.image
    if mode == "RGB+ED":
        wanted = torch.cat([wanted[..., :-1], wanted[..., -1:] / drawn.alpha[..., None].clamp(min=1e-10)], -1)
    sure = drawn.sure & ((drawn.alpha > 1e-2) | (drawn.alpha == 0) if mode == "RGB+ED" else True)
    weights = torch.randn(wanted.shape, generator=g, dtype=torch.float64) * sure[..., None]
    weights_alpha = torch.randn(drawn.alpha.shape, generator=g, dtype=torch.float64) * sure
    ((wanted * weights).sum() + (drawn.alpha * weights_alpha).sum()).backward()

    ours = {k: v.clone().requires_grad_() for k, v in scene.params.items()}
    our_pose, our_ground = scene.viewmat.clone()[None].requires_grad_(), background.clone()[None].requires_grad_()
    image, alpha, _ = rasterization(
        *(ours[k] for k in NAMES), our_pose, scene.K[None], scene.width, scene.height, backgrounds=our_ground,
        render_mode=mode,
        rasterize_mode="antialiased" if antialiased else "classic", absgrad=absgrad,
    )  # fmt: skip
    assert image.shape == (1, *wanted.shape)
    assert alpha.shape == (1, *drawn.alpha.shape, 1)
    scale = max(1.0, float(wanted.abs().max()))
    assert ((image[0].double() - wanted).abs()[sure]).max() < 1e-5 * scale if sure.any() else True
    assert ((alpha[0, ..., 0].double() - drawn.alpha).abs() * sure).max() < 1e-5
    ((image[0] * weights).sum() + (alpha[0, ..., 0] * weights_alpha).sum()).backward()
    pairs = {k: (ours[k].grad, exact[k].grad) for k in NAMES}
    pairs |= {"viewmat": (our_pose.grad[0, :3], pose.grad[:3]), "background": (our_ground.grad[0], ground.grad)}
    for name, (got, want) in pairs.items():
        size = float(want.abs().max())
        worst = float((got.double() - want).abs().max())
        assert worst <= TOLERANCE * size + 1e-6, f"{name}: off by {worst:.3g} of {size:.3g}"


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 40),
    width=st.integers(1, 40),
    height=st.integers(1, 40),
    opaque=st.booleans(),
)
def test_random_scenes(seed: int, n: int, width: int, height: int, opaque: bool) -> None:
    compare(small_scene(seed, n, width, height, opaque=opaque), seed)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 8, 9, 16, 19])
def test_any_number_of_channels(channels: int) -> None:
    compare(small_scene(3, channels=channels), channels)


@pytest.mark.parametrize("mode", ["RGB", "RGB+D", "RGB+ED"])
@pytest.mark.parametrize("antialiased", [False, True])
def test_modes(mode: str, antialiased: bool) -> None:
    for seed in range(8):
        compare(small_scene(100 + seed), seed, mode, antialiased)


def test_tall_and_wide_pictures() -> None:
    compare(small_scene(5, n=40, width=17, height=300), 5)
    compare(small_scene(6, n=40, width=300, height=9), 6)


def test_the_reference_agrees_with_finite_differences() -> None:
    scene = small_scene(11, n=6, width=12, height=10)
    exact = [scene.params[k].double() for k in NAMES]
    pose = scene.viewmat.double()
    drawn = reference.render(*exact, pose, scene.K.double(), 12, 10)

    def picture(*inputs: torch.Tensor) -> torch.Tensor:
        return (reference.render(*inputs, scene.K.double(), 12, 10).image * drawn.sure[..., None]).sum((0, 1))

    assert torch.autograd.gradcheck(
        picture, [a.requires_grad_() for a in (*exact, pose)], eps=1e-7, atol=1e-4, rtol=1e-3
    )


@pytest.mark.slow
@settings(max_examples=5000, deadline=None, derandomize=True, database=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 30),
    width=st.integers(1, 40),
    height=st.integers(1, 40),
    anti=st.booleans(),
)
def test_many_random_scenes(seed: int, n: int, width: int, height: int, anti: bool) -> None:
    compare(small_scene(seed, n, width, height), seed, antialiased=anti)
