"""The pictures, the depth, the poses and the points of the demo capture tell one story."""

import json

import numpy as np
import pytest
from PIL import Image
from sceneloom.data.capture import load_capture
from sceneloom.data.demo import demo_capture
from sceneloom.data.demo.cameras import orbit
from sceneloom.data.errors import InputError


@pytest.fixture(scope="module")
def frames(small_demo):
    """(meta, [(world-to-camera OpenCV [4, 4], rgb [H, W, 3], depth [H, W])]) read from the files alone."""
    meta = json.loads((small_demo / "transforms.json").read_text())
    rows = []
    for frame in meta["frames"]:
        pose = np.array(frame["transform_matrix"]) @ np.diag([1.0, -1.0, -1.0, 1.0])
        rgb = np.asarray(Image.open(small_demo / frame["file_path"])).astype(float)
        depth = np.asarray(Image.open(small_demo / frame["depth_file_path"])) * meta["depth_unit_scale_factor"]
        rows.append((np.linalg.inv(pose), rgb, depth))
    return meta, rows


def project(meta, world_to_camera, xyz):
    """(column, row, z) of world points."""
    c = xyz @ world_to_camera[:3, :3].T + world_to_camera[:3, 3]
    return meta["fl_x"] * c[:, 0] / c[:, 2] + meta["cx"], meta["fl_y"] * c[:, 1] / c[:, 2] + meta["cy"], c[:, 2]


def lift(meta, world_to_camera, depth):
    """World points [H * W, 3] of all pixels."""
    h, w = depth.shape
    x, y = np.meshgrid(np.arange(w) + 0.5, np.arange(h) + 0.5)
    c = (
        np.stack([(x - meta["cx"]) / meta["fl_x"], (y - meta["cy"]) / meta["fl_y"], np.ones_like(x)], -1)
        * depth[..., None]
    )
    pose = np.linalg.inv(world_to_camera)
    return c.reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3]


def test_our_reader_takes_it_like_any_capture(small_demo):
    scene = load_capture(small_demo)
    assert len(scene.views) == 12
    assert (scene.views[0].camera.width, scene.views[0].camera.height) == (96, 72)
    assert len(scene.points) > 1000
    assert not [fact for fact in scene.facts if fact.level == "warning"]
    truth = orbit(12, 96).poses[:, :3, 3]
    centres = np.stack([scene.frame.to_input(v.camera.center) for v in scene.views])
    np.testing.assert_allclose(centres, truth, atol=1e-6)


def test_every_pixel_is_met_so_nothing_is_unbounded(frames):
    _, rows = frames
    for _, _, depth in rows:
        assert depth.min() > 0.5
        assert depth.max() < 6.5


def warp_error(meta, a, b, shift=(0, 0)):
    """Mean colour difference where view a, carried into b by its depth, meets the same surface; its share."""
    (pose_a, rgb_a, depth_a), (pose_b, rgb_b, depth_b) = a, b
    x, y, z = project(meta, pose_b, lift(meta, pose_a, depth_a))
    i, j = np.floor(y).astype(int), np.floor(x).astype(int)
    inside = (i >= 3) & (j >= 3) & (i < meta["h"] - 3) & (j < meta["w"] - 3)
    i, j, z, colour = i[inside], j[inside], z[inside], rgb_a.reshape(-1, 3)[inside]
    seen = np.abs(depth_b[i, j] - z) < 0.02 * z  # the rest is hidden behind something in b
    return np.abs(rgb_b[i + shift[0], j + shift[1]] - colour)[seen].mean(), seen.mean()


@pytest.mark.parametrize("pair", [(0, 1), (5, 4), (6, 7), (10, 11)])
def test_a_view_warped_by_depth_and_pose_matches_its_neighbour(frames, pair):
    """Colours agree best exactly where the files say, and clearly worse two or three pixels off, whichever way."""
    meta, rows = frames
    error, seen = warp_error(meta, *(rows[i] for i in pair))
    assert seen > 0.35  # walls and tops far apart see little of each other
    assert error < 22  # pixels of neighbours a quarter turn apart cover differently slanted patches
    for shift in ((3, 0), (-3, 0), (0, 3), (0, -3)):
        assert warp_error(meta, *(rows[i] for i in pair), shift)[0] > 1.2 * error


def test_points_lie_on_what_the_views_see_and_carry_its_colour(small_demo, frames):
    meta, rows = frames
    scene = load_capture(small_demo)
    xyz, rgb = scene.frame.to_input(scene.points.xyz), scene.points.rgb.astype(float)
    nearest, colour = np.full(len(xyz), np.inf), np.full(len(xyz), np.inf)
    for pose, picture, depth in rows:
        x, y, z = project(meta, pose, xyz)
        i, j = np.floor(y).astype(int), np.floor(x).astype(int)
        ok = (z > 0) & (i >= 0) & (j >= 0) & (i < meta["h"]) & (j < meta["w"])
        gap = np.abs(depth[i[ok], j[ok]] / z[ok] - 1)
        nearest[ok] = np.minimum(nearest[ok], gap)
        colour[ok] = np.minimum(
            colour[ok], np.where(gap < 0.06, np.abs(picture[i[ok], j[ok]] - rgb[ok]).max(-1), np.inf)
        )
    assert np.mean(nearest < 0.05) > 0.99
    assert np.median(colour) < 10
    assert nearest.max() > 0  # points carry the errors of a reconstruction, they are not the exact depth


def test_pictures_are_rich_and_well_exposed(frames):
    _, rows = frames
    pictures = np.stack([rgb for _, rgb, _ in rows])
    assert 80 < pictures.mean() < 170
    assert pictures.std() > 35
    assert np.mean((pictures >= 254).all(-1)) < 0.01
    assert np.mean((pictures <= 2).all(-1)) < 0.01


def test_nonsense_sizes_are_refused():
    with pytest.raises(InputError, match="at least 3 views"):
        demo_capture(views=1)
