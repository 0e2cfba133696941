"""The point that cameras look at together."""

import numpy as np
import pytest
from sceneloom.data.axes import axes_are_parallel, axes_meet
from sceneloom.data.scene import Camera


def camera(center, direction) -> Camera:
    """Looks along `direction`; how it is turned about that axis does not matter here."""
    z = np.asarray(direction, float) / np.linalg.norm(direction)
    x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(z, x), z])
    pose[:3, 3] = -pose[:3, :3] @ np.asarray(center, float)
    return Camera(np.eye(3), 2, 2, pose)


def test_axes_through_one_point_meet_there():
    centers = np.random.default_rng(0).normal(size=(7, 3)) * 3
    cameras = [camera(c, np.array([1.0, -2, 0.5]) - c) for c in centers]
    assert not axes_are_parallel(cameras)
    np.testing.assert_allclose(axes_meet(cameras), [1, -2, 0.5], atol=1e-9)


def test_skew_axes_meet_half_way():
    np.testing.assert_allclose(
        axes_meet([camera((-5, 0, 0), (1, 0, 0)), camera((0, -5, 1), (0, 1, 0))]), [0, 0, 0.5], atol=1e-12
    )


@pytest.mark.parametrize("others", [[], [(1, (0, 0, 1))], [(1, (0, 0, 1)), (2, (0, 0, -1)), (3, (1e-4, 0, 1))]])
def test_parallel_axes_give_the_point_nearest_to_the_origin(others):
    cameras = [camera((x, 3, 7), direction) for x, direction in [(0, (0, 0, 1)), *others]]
    assert axes_are_parallel(cameras)
    np.testing.assert_allclose(axes_meet(cameras), [len(others) / 2, 3, 0], atol=2e-3)
