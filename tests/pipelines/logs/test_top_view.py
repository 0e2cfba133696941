"""The capture from above: up is found, everything is inside, names stay text."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sceneloom.data.scene import Points, Scene, View
from sceneloom.pipelines.logs.top_view import HEIGHT, WIDTH, plane, top_view

from ...renderers.splats.test_initialise import ring

EVIL = '<img src=x onerror="alert(1)">'


def capture(views: int = 12, points: int = 500) -> Scene:
    r = np.random.default_rng(0)
    cloud = Points(r.uniform(-1, 1, (points, 3)), r.integers(0, 255, (points, 3)).astype(np.uint8))
    shots = tuple(View(f"{i:02d} {EVIL}", camera, image=None) for i, camera in enumerate(ring(views)))
    return Scene(shots, cloud, test=(0, 8), name=EVIL)


def numbers(svg: str, pattern: str) -> np.ndarray:
    return np.array([[float(n) for n in found] for found in re.findall(pattern, svg)])


def test_cameras_of_a_ring_lie_on_a_circle_and_look_inwards():
    svg = top_view(capture())
    at = numbers(svg, r'<circle cx="([-\d.]+)" cy="([-\d.]+)"')
    assert len(at) == 12
    middle = at.mean(0)
    radii = np.linalg.norm(at - middle, axis=1)
    np.testing.assert_allclose(radii, radii.mean(), rtol=0.02)
    corners = numbers(svg, r'<polygon points="([-\d.]+),([-\d.]+) ([-\d.]+),([-\d.]+) ([-\d.]+),([-\d.]+)"').reshape(
        -1, 3, 2
    )
    inwards = np.einsum("ni,ni->n", corners[:, 1:].mean(1) - corners[:, 0], middle - at)
    assert (inwards > 0).all()


def test_everything_drawn_is_inside_whatever_the_outliers():
    scene = capture()
    xyz = scene.points.xyz.copy()
    xyz[0], xyz[1] = 1e6, np.nan
    svg = top_view(replace(scene, points=replace(scene.points, xyz=xyz)))
    at = np.concatenate(
        [numbers(svg, r'<circle cx="([-\d.]+)" cy="([-\d.]+)"'), numbers(svg, r"M([-\d.]+) ([-\d.]+)h0")]
    )
    assert len(at) > 400
    assert (at >= 0).all()
    assert (at <= [WIDTH, HEIGHT]).all()


def test_up_is_the_cameras_up_in_any_frame():
    poses = np.stack([v.camera.world_to_camera for v in capture().views])
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    turned = poses.copy()
    turned[:, :3, :3] = poses[:, :3, :3] @ turn.T
    for given in (poses, turned):
        right, forward = plane(given)
        up = np.cross(right, forward)
        mean = -given[:, 1, :3].mean(0)
        np.testing.assert_allclose(up, mean / np.linalg.norm(mean), atol=1e-6)


def test_names_stay_text_and_held_out_cameras_are_told_apart():
    tags = []

    class Seen(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append(tag)

    svg = top_view(capture())
    Seen().feed(svg)
    assert set(tags) <= {"svg", "path", "g", "title", "polygon", "circle"}
    assert svg.count('class="camera held"') == 2


@pytest.mark.parametrize(("views", "points"), [(1, 50), (2, 0), (3, 1)])
def test_small_captures_are_drawn_too(views, points):
    svg = top_view(replace(capture(views, points), test=()))
    assert svg.count("<polygon") == views
    assert "nan" not in svg


def test_no_usable_camera_no_picture():
    scene = capture(1)
    lost = replace(scene.views[0].camera, world_to_camera=np.full((4, 4), np.nan))
    assert top_view(replace(scene, views=(replace(scene.views[0], camera=lost),), test=())) == ""
