"""What rasterization promises beyond agreement with the reference: check values, determinism, interface, odd input."""

from __future__ import annotations

import importlib.util
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sceneloom.data.errors import InputError
from sceneloom.renderers.kernels import pool
from sceneloom.renderers.splats.cpu import fully_fused_projection, rasterization, rasterize_to_pixels

from ...reference import splats as reference
from ...shared_data import shared
from .scenes import small_scene

NAMES = ("means", "quats", "scales", "opacities", "colours")


def draw(scene, params=None, **options):
    params = params or scene.params
    viewmats = options.pop("viewmats", scene.viewmat[None])
    Ks = options.pop("Ks", scene.K[None].expand(len(viewmats), 3, 3))
    return rasterization(*(params[k] for k in NAMES), viewmats, Ks, scene.width, scene.height, **options)


def leaves(scene) -> dict[str, torch.Tensor]:
    return {k: v.clone().requires_grad_() for k, v in scene.params.items()}


def gradients(scene, **options) -> tuple[torch.Tensor, dict[str, torch.Tensor], dict]:
    params = leaves(scene)
    image, alpha, meta = draw(scene, params, **options)
    weights = torch.randn(image.shape, generator=torch.Generator().manual_seed(0))
    ((image * weights).sum() + alpha.square().sum()).backward()
    return image.detach(), {k: v.grad for k, v in params.items()}, meta


@pytest.mark.parametrize(("n", "value"), [(10_000, 0.000418), (50_000, -0.001420), (100_000, 0.00019)])
def test_check_values_of_the_fixed_scenes(n: int, value: float) -> None:
    spec = importlib.util.spec_from_file_location("splat_scene", shared("bench/splat_scene.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scene = {k: torch.from_numpy(v) if hasattr(v, "shape") else v for k, v in module.make(n).items()}
    image, _, _ = rasterization(
        scene["means"], scene["quats"], scene["scales"], scene["opacities"], scene["rgb"], scene["viewmat"][None],
        scene["K"][None],
        270, 480,
    )  # fmt: skip
    assert (image[0] * scene["wt"]).mean().item() == pytest.approx(value, abs=1e-5)


def test_bit_equal_for_any_number_of_threads() -> None:
    scene = small_scene(1, n=3000, width=150, height=140)
    scene.params["scales"] *= 0.3
    poses = torch.stack([scene.viewmat, scene.viewmat])
    poses[1, 0, 3] += 0.2
    before, results = pool.threads(), []
    for n in (1, 2, 3, 8):
        pool.set_threads(n)
        pose = poses.clone().requires_grad_()
        image, grads, meta = gradients(
            scene, viewmats=pose, absgrad=True, render_mode="RGB+ED", rasterize_mode="antialiased"
        )
        results.append([image, *grads.values(), pose.grad, meta["means2d"].absgrad])
    pool.set_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()


def test_equal_depths_keep_the_order_of_their_index() -> None:
    """Two opaque Gaussians in one place: the first wins, wherever it stands in memory."""
    n = 70_000  # more than one chunk of the sort
    means = torch.tensor([[0.0, 0, 2]]).repeat(n, 1)
    opacities = torch.zeros(n)
    colours = torch.rand(n, 3)
    opacities[[100, 69_000]] = 0.9
    image, _, _ = rasterization(
        means, torch.ones(n, 4), torch.full((n, 3), 0.1), opacities, colours, torch.eye(4)[None],
        torch.tensor([[[10.0, 0, 4.5], [0, 10, 4.5], [0, 0, 1]]]), 9, 9,
    )  # fmt: skip
    assert torch.allclose(image[0, 4, 4], 0.9 * colours[100] + 0.1 * 0.9 * colours[69_000], atol=1e-6)


def test_an_opaque_gaussian_shows_its_colour() -> None:
    one = torch.ones(1)
    image, alpha, _ = rasterization(
        torch.tensor([[0.0, 0, 1]]), torch.tensor([[1.0, 0, 0, 0]]), torch.full((1, 3), 5.0), one, torch.tensor([[0.2,
        0.5, 0.9]]),
        torch.eye(4)[None], torch.tensor([[[10.0, 0, 1], [0, 10, 1], [0, 0, 1]]]), 2, 2,
    )  # fmt: skip
    assert torch.allclose(image[0], 0.999 * torch.tensor([0.2, 0.5, 0.9]).expand(2, 2, 3), atol=1e-6)
    assert torch.allclose(alpha, torch.full_like(alpha, 0.999))


def test_several_cameras_add_their_gradients() -> None:
    scene = small_scene(2)
    poses = torch.stack([scene.viewmat, scene.viewmat, scene.viewmat])
    poses[1, 0, 3], poses[2, 2, 3] = 0.4, 0.3
    image, grads, meta = gradients(scene, viewmats=poses)
    assert image.shape == (3, scene.height, scene.width, 3)
    assert meta["radii"].shape == (3, 30, 2)
    assert meta["n_cameras"] == 3
    weights = torch.randn(image.shape, generator=torch.Generator().manual_seed(0))
    total = {k: torch.zeros_like(v) for k, v in scene.params.items()}
    for c in range(3):
        params = leaves(scene)
        one, alpha, _ = draw(scene, params, viewmats=poses[c : c + 1])
        assert torch.equal(one[0], image[c])
        ((one[0] * weights[c]).sum() + alpha.square().sum()).backward()
        for k in total:
            total[k] += params[k].grad
    for k, v in total.items():
        assert torch.allclose(v, grads[k], rtol=1e-4, atol=1e-4 * v.abs().max()), k


def test_batches_of_scenes() -> None:
    scenes = [small_scene(s) for s in (3, 4)]
    stacked = {k: torch.stack([s.params[k] for s in scenes]) for k in NAMES}
    poses, Ks = torch.stack([s.viewmat[None] for s in scenes]), torch.stack([s.K[None] for s in scenes])
    image, alpha, _ = rasterization(*(stacked[k] for k in NAMES), poses, Ks, 37, 29)
    assert image.shape == (2, 1, 29, 37, 3)
    assert alpha.shape == (2, 1, 29, 37, 1)
    for b, s in enumerate(scenes):
        assert torch.equal(image[b], draw(s)[0])
    sh = torch.randn(2, 30, 4, 3)
    batched, _, _ = rasterization(*(stacked[k] for k in NAMES[:4]), sh, poses, Ks, 37, 29, sh_degree=1)
    for b, s in enumerate(scenes):
        assert torch.equal(batched[b], draw(s, {**s.params, "colours": sh[b]}, sh_degree=1)[0])


def test_spherical_harmonics_colours_and_schedule() -> None:
    scene = small_scene(5)
    sh = torch.randn(30, 16, 3, generator=torch.Generator().manual_seed(0)) * 0.3
    params = {**leaves(scene), "colours": sh.clone().requires_grad_()}
    pose = scene.viewmat[None].clone().requires_grad_()
    for degree in range(4):
        for p in (*params.values(), pose):
            p.grad = None
        image, _, _ = draw(scene, params, sh_degree=degree, viewmats=pose)
        weights = torch.randn(image.shape, generator=torch.Generator().manual_seed(1))
        (image * weights).sum().backward()
        assert not params["colours"].grad[:, (degree + 1) ** 2 :].any()
        assert params["colours"].grad[:, : (degree + 1) ** 2].any()
        # the same from colours that torch computes
        exact = {k: v.detach().double().requires_grad_() for k, v in params.items()}
        view = scene.viewmat.double().requires_grad_()
        theirs = pytest.importorskip("gsplat.cuda._torch_impl")
        centre = torch.linalg.inv(view)[:3, 3]
        colours = (theirs._spherical_harmonics(degree, exact["means"] - centre, exact["colours"]) + 0.5).clamp(min=0)
        drawn = reference.render(
            *(exact[k] for k in NAMES[:4]), colours, view, scene.K.double(), scene.width, scene.height
        )
        if not drawn.sure.all():
            continue
        (drawn.image * weights[0]).sum().backward()
        for k, v in exact.items():
            assert (params[k].grad - v.grad).abs().max() <= 1e-4 * v.grad.abs().max(), k
        assert (pose.grad[0, :3] - view.grad[:3]).abs().max() <= 1e-4 * view.grad.abs().max()


def test_means2d_keeps_its_gradient_and_the_absolute_one() -> None:
    scene = small_scene(6)
    params = leaves(scene)
    image, _, meta = draw(scene, params, absgrad=True)
    meta["means2d"].retain_grad()
    weights = torch.randn(image.shape, generator=torch.Generator().manual_seed(0))
    (image * weights).sum().backward()
    signed, absolute = meta["means2d"].grad, meta["means2d"].absgrad
    assert signed.shape == absolute.shape == (1, 30, 2)
    assert (absolute >= signed.abs() - 1e-5 * absolute.max()).all()
    # pixel by pixel: the absolute gradient is the sum of |gradient of one pixel's loss|
    total, plain = torch.zeros_like(absolute), torch.zeros_like(signed)
    for y in range(0, scene.height):
        for x in range(0, scene.width, 1):
            if not float(image[0, y, x].abs().sum()):
                continue
            picture, _, again = draw(scene, leaves(scene))
            (g,) = torch.autograd.grad((picture[0, y, x] * weights[0, y, x]).sum(), again["means2d"])
            total, plain = total + g.abs(), plain + g
    assert torch.allclose(plain, signed, atol=1e-4 * signed.abs().max())
    assert torch.allclose(total, absolute, atol=1e-4 * absolute.max())


def test_renders_between_forward_and_backward_do_no_harm() -> None:
    scene, other = small_scene(7), small_scene(8)
    _, alone, _ = gradients(scene)
    first, second = leaves(scene), leaves(other)
    image, alpha, _ = draw(scene, first)
    image2, alpha2, _ = draw(other, second)
    with torch.no_grad():
        draw(other)
    for pictures, opacity in ((image2, alpha2), (image, alpha)):
        weights = torch.randn(pictures.shape, generator=torch.Generator().manual_seed(0))
        ((pictures * weights).sum() + opacity.square().sum()).backward()
    for k in NAMES:
        assert torch.equal(first[k].grad, alone[k])
    _, other_alone, _ = gradients(other)
    for k in NAMES:
        assert torch.equal(second[k].grad, other_alone[k])


def test_gradients_accumulate_like_any_torch_function() -> None:
    scene = small_scene(9)
    _, once, _ = gradients(scene)
    params = leaves(scene)
    for _ in range(2):
        image, alpha, _ = draw(scene, params)
        weights = torch.randn(image.shape, generator=torch.Generator().manual_seed(0))
        ((image * weights).sum() + alpha.square().sum()).backward()
    for k in NAMES:
        assert torch.allclose(params[k].grad, 2 * once[k])


def test_drawing_without_gradients_gives_the_same_picture() -> None:
    scene = small_scene(10)
    with torch.no_grad():
        image, alpha, _ = draw(scene)
    assert not image.requires_grad
    again, alpha_again, _ = draw(scene, leaves(scene))
    assert torch.equal(image, again)
    assert torch.equal(alpha, alpha_again)


def test_depth_alone() -> None:
    scene = small_scene(11)
    both = draw(scene, render_mode="RGB+D")[0]
    assert torch.equal(draw(scene, render_mode="D")[0], both[..., 3:])
    mean = draw(scene, render_mode="ED")[0]
    assert torch.allclose(mean, draw(scene, render_mode="RGB+ED")[0][..., 3:])
    seen = draw(scene)[1] > 0.5
    z = draw(scene)[2]["depths"]
    assert (mean[seen] <= z.max()).all()
    assert (mean[seen] >= z[z > 0].min() - 1e-4).all()


def test_the_halves_make_the_whole() -> None:
    scene = small_scene(12)
    p = scene.params
    radii, means2d, depths, conics, _ = fully_fused_projection(
        p["means"],
        None,
        p["quats"],
        p["scales"],
        scene.viewmat[None],
        scene.K[None],
        scene.width,
        scene.height,
        opacities=p["opacities"],
    )
    image, alpha = rasterize_to_pixels(
        means2d, conics, p["colours"][None], p["opacities"][None], scene.width, scene.height, depths=depths, radii=radii
    )
    whole, whole_alpha, _ = draw(scene)
    assert torch.equal(image, whole)
    assert torch.equal(alpha, whole_alpha)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17])
@pytest.mark.parametrize("size", [(1, 1), (8, 128), (9, 130)])
def test_small_numbers(n: int, size: tuple[int, int]) -> None:
    scene = small_scene(13, n, *size)
    image, grads, _ = gradients(scene)
    assert image.shape == (1, size[1], size[0], 3)
    assert all(torch.isfinite(g).all() and g.shape == scene.params[k].shape for k, g in grads.items())


def test_nothing_in_sight() -> None:
    scene = small_scene(14)
    scene.params["means"] = -scene.viewmat[:3, :3].T @ scene.viewmat[:3, 3] - 5 * scene.viewmat[2, :3].expand(30, 3)
    background = torch.tensor([[0.1, 0.2, 0.3]])
    image, grads, meta = gradients(scene, backgrounds=background)
    assert torch.equal(image, background.expand_as(image))
    assert not any(g.any() for g in grads.values())
    assert not meta["radii"].any()


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(
    seed=st.integers(0, 2**31),
    name=st.sampled_from(NAMES),
    value=st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e-30, 1e30, 1e12, -1.0, 1.0, 3e38]),
    offset=st.floats(-300, 300, width=32),
)
def test_odd_rows_are_harmless(seed: int, name: str, value: float, offset: float) -> None:
    """One row in three is spoilt, the principal point may lie outside: everything stays finite, rows that are not
    finite count for nothing."""
    scene = small_scene(seed, 24)
    scene.K[0, 2] += offset
    spoilt = {k: v.clone() for k, v in scene.params.items()}
    spoilt[name][::3] = value
    clean = {k: v for k, v in scene.params.items()}
    scene.params = spoilt
    image, grads, _ = gradients(scene)
    assert torch.isfinite(image).all()
    for k, g in grads.items():
        assert torch.isfinite(g).all(), k
    if not math.isfinite(value):
        assert not any(g[::3].any() for g in grads.values())
        kept = torch.arange(24) % 3 != 0
        scene.params = {k: v[kept] for k, v in clean.items()}
        assert torch.equal(gradients(scene)[0], image)


def test_needles_and_a_zero_quaternion() -> None:
    scene = small_scene(15)
    scene.params["scales"][:10, 0] = 1e3
    scene.params["scales"][:10, 1:] = 1e-7
    scene.params["quats"][20] = 0
    image, grads, _ = gradients(scene)
    assert torch.isfinite(image).all()
    assert all(torch.isfinite(g).all() for g in grads.values())


def test_what_is_not_supported_says_so() -> None:
    scene = small_scene(16)
    for option in (
        {"sparse_grad": True}, {"distributed": True}, {"camera_model": "fisheye"}, {"with_ut": True}, {"with_eval3d":
        True},
        {"radial_coeffs": torch.zeros(1, 4)}, {"covars": torch.zeros(30, 3, 3)},
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="not supported by the CPU back end"):
            draw(scene, **option)
    with pytest.raises(ValueError, match="render_mode is 'X'"):
        draw(scene, render_mode="X")
    with pytest.raises(ValueError, match="rasterize_mode is 'X'"):
        draw(scene, rasterize_mode="X")
    with pytest.raises(ValueError, match=r"quats has shape \[30, 3\], wanted \[30, 4\]"):
        draw(scene, {**scene.params, "quats": torch.zeros(30, 3)})
    scene.width = 0
    with pytest.raises(ValueError, match="wanted at least 1"):
        draw(scene)
    scene.width, scene.height = 2**20 + 1, 1
    with pytest.raises(InputError, match=r"data\.downscale"):
        draw(scene)
    for option in ({"packed": False}, {"tile_size": 8}, {"channel_chunk": 4}, {"segmented": True}):
        fresh = small_scene(16)
        assert torch.equal(draw(fresh, **option)[0], draw(fresh)[0])
