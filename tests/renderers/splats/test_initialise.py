"""First Gaussians from few, equal or no points."""

import numpy as np
from sceneloom.data.scene import Camera, Points
from sceneloom.renderers.splats.initialise import common_view, from_points, neighbour_distance, sees


def look_at(center, target=(0, 0, 0), size=64):
    z = np.subtract(target, center) / np.linalg.norm(np.subtract(target, center))
    x = np.cross(z, [0, 0, 1.0])
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, -R @ np.asarray(center, float)
    return Camera(np.array([[size, 0, size / 2], [0, size, size / 2], [0, 0, 1.0]]), size, size, pose)


def ring(n=12, radius=4.0):
    return [
        look_at((radius * np.cos(a), radius * np.sin(a), 1.0)) for a in np.linspace(0, 2 * np.pi, n, endpoint=False)
    ]


def test_neighbour_distance_by_hand():
    xyz = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.0]])
    assert neighbour_distance(xyz, 9.0)[0] == np.sqrt((1 + 4 + 9) / 3)


def test_few_or_equal_points_fall_back_to_the_scene():
    for n in (0, 1, 2, 3, 5):
        g = from_points(Points(np.zeros((n, 3)), np.full((n, 3), 255, np.uint8)), extent=2.0, degree=3)
        assert len(g) == n
        assert g.finite().all()
        np.testing.assert_allclose(g.log_scales, np.log(0.02), rtol=1e-6)
        assert g.sh.shape == (n, 16, 3)
        np.testing.assert_allclose(0.5 + 0.28209479177387814 * g.sh[:, 0], 1.0, rtol=1e-6)


def test_common_view_is_seen_by_many_and_depends_on_the_seed_alone():
    cameras = ring()
    points = common_view(cameras, 500, seed=3, extent=4.0)
    assert len(points) == 500
    seen = sum(sees(c, points.xyz).astype(int) for c in cameras)
    assert np.median(seen) >= 6
    assert np.linalg.norm(points.xyz, axis=1).max() < 12
    np.testing.assert_array_equal(common_view(cameras, 500, 3, 4.0).xyz, points.xyz)
    assert not np.array_equal(common_view(cameras, 500, 4, 4.0).xyz, points.xyz)


def test_cameras_that_look_outwards_or_alike_get_points_within_few_extents():
    directions = np.eye(3)[[0, 1]].tolist() + (-np.eye(3)[[0, 1]]).tolist()
    outwards = [look_at(d, np.multiply(2, d)) for d in directions]
    alike = [look_at((x, 0, 0), (x, 1, 0)) for x in (-1.0, 0, 1)]
    for cameras in (outwards, alike):
        points = common_view(cameras, 400, seed=0, extent=2.0)
        depths = np.stack(
            [(points.xyz @ c.world_to_camera[:3, :3].T + c.world_to_camera[:3, 3])[:, 2] for c in cameras]
        )
        assert np.all(((depths >= 0.9 * 2) & (depths <= 9 * 2)).any(0))
        assert depths.max() > 8 * 2
        assert depths[depths > 0].min() < 1.1 * 2


def test_one_camera_still_gets_points_in_front():
    camera = look_at((0, -3, 0))
    points = common_view([camera], 100, seed=0, extent=1.0)
    assert sees(camera, points.xyz).all()
