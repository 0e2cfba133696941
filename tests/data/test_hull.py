"""The visual hull of a ball seen from all around is the ball."""

import numpy as np
from sceneloom.data.hull import visual_hull
from sceneloom.data.scene import Pixels

from ..renderers.splats.test_initialise import ring


def test_hull_of_a_ball():
    cameras = ring(16)
    pictures = []
    for c in cameras:
        y, x = np.mgrid[: c.height, : c.width] + 0.5
        rays = np.stack([x, y, np.ones_like(x)], -1) @ np.linalg.inv(c.K).T
        rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
        centre = c.world_to_camera[:3, 3]
        miss = np.linalg.norm(centre - (rays @ centre)[..., None] * rays, axis=-1)
        alpha = np.where(miss < 1.0, 255, 0).astype(np.uint8)
        rgb = np.where(alpha[..., None] > 0, np.array([200, 100, 50]), 0).astype(np.uint8)
        pictures.append(Pixels(rgb, alpha))
    hull = visual_hull(cameras, pictures.__getitem__, resolution=48)
    assert hull is not None
    radius = np.linalg.norm(hull.xyz[:, :2], axis=1)
    assert np.percentile(radius, 99) < 1.1
    assert np.abs(hull.xyz[:, 2]).max() < 1.3  # the cameras ring it: above and below the hull bulges
    np.testing.assert_allclose(np.median(hull.rgb, 0), [200, 100, 50], atol=3)


def test_a_photo_that_the_object_fills_hides_nothing():
    cameras = ring(6)
    opaque = [Pixels(np.full((64, 64, 3), 90, np.uint8), None) for _ in cameras]
    assert visual_hull(cameras, opaque.__getitem__, resolution=16) is not None


def test_nothing_in_the_pictures_gives_none():
    cameras = ring(6)
    empty = [Pixels(np.zeros((64, 64, 3), np.uint8), np.zeros((64, 64), np.uint8)) for _ in cameras]
    assert visual_hull(cameras, empty.__getitem__, resolution=16) is None
