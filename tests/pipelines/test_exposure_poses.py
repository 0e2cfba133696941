"""Exposure maps and small rigid motions."""

from dataclasses import replace

import numpy as np
import torch
from sceneloom.data.gaussians import SH_C0, Gaussians
from sceneloom.data.images.cache import ImageCache
from sceneloom.data.scene import Pixels
from sceneloom.pipelines import exposure, poses
from sceneloom.pipelines.alignment import aligned_poses
from sceneloom.pipelines.evaluate import score
from sceneloom.renderers.splats.backends import choose
from sceneloom.renderers.splats.initialise import from_points
from sceneloom.renderers.splats.model import Splats
from sceneloom.renderers.splats.render import SplatRenderer
from scipy.spatial.transform import Rotation

from . import tiny


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
    mask = np.arange(30) < 20
    mask = np.broadcast_to(mask, (20, 30))
    spoiled = np.where(mask[..., None], changed, 0.0)
    np.testing.assert_allclose(exposure.aligned(picture, spoiled, mask), changed, atol=1e-10)
    np.testing.assert_array_equal(exposure.aligned(picture, spoiled, np.zeros_like(mask)), picture)


def masked_view(size: int = 48):
    """A model, and a view of it whose photo is spoiled to the right, where the mask leaves it out."""
    capture = tiny.scene(views=3)
    model = Splats.from_gaussians(from_points(tiny.blobs(), 4.0, 0, opacity=0.9))
    view = capture.views[0]
    rgb = view.image.load().rgb.copy()
    mask = np.zeros((size, size), bool)
    mask[:, : size * 2 // 3] = True
    rgb[~mask] = [255, 0, 255]
    return model, replace(view, image=tiny.Photo(Pixels(rgb, mask=mask)))


def test_a_pose_is_refined_on_the_pixels_that_count():
    """The pose is right already: pixels outside the mask must not pull it away."""
    model, view = masked_view()
    renderer, cache, background = SplatRenderer(choose("cpu")), ImageCache(1 << 24), (0.1, 0.2, 0.3)
    found = aligned_poses(model, renderer, [view], cache, background, steps=15)[view.name].numpy()
    np.testing.assert_allclose(found, view.camera.world_to_camera, atol=1e-3)


def test_colours_are_aligned_on_the_pixels_that_count():
    model, view = masked_view()
    renderer, cache, background = SplatRenderer(choose("cpu")), ImageCache(1 << 24), (0.1, 0.2, 0.3)
    plain = score(model, renderer, [view], cache, background)[0]
    mapped = score(model, renderer, [view], cache, background, recolour=exposure.aligned)[0]
    assert plain.masked_psnr is not None
    assert mapped.masked_psnr is not None
    assert mapped.masked_psnr > plain.masked_psnr - 0.1


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
