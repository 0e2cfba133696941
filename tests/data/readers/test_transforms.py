"""transforms.json in its flavours; the same rays as the COLMAP form of the same capture."""

import json
import math

import numpy as np
import pytest
from PIL import Image
from sceneloom.data.capture import load_capture
from sceneloom.data.errors import InputError
from sceneloom.data.readers.transforms import read_transforms

from ...shared_data import shared
from ..tiny import frames, intrinsics, ring, write_colmap, write_images, write_json


def texts(scene, key):
    return [f.text for f in scene.facts if f.key == key]


def rays(scene):
    """Input-frame origin and direction through four pixels of every view, [N, 2, 4, 3]."""
    pixels = np.array([[0.5, 0.5, 1], [63.5, 0.5, 1], [20, 40, 1], [32, 24, 1.0]])
    out = []
    for v in scene.views:
        d = pixels @ np.linalg.inv(v.camera.K).T @ v.camera.world_to_camera[:3, :3]
        d /= np.linalg.norm(d, axis=1, keepdims=True)
        out.append([np.tile(scene.frame.to_input(v.camera.center), (4, 1)), d])
    return np.array(out)


@pytest.mark.parametrize("distorted", [False, True])
def test_rays_agree_across_formats(tmp_path, distorted):
    extra = {"model": "OPENCV", "params": (70.0, 72.0, 33.0, 23.0, 0.05, -0.02, 0.001, -0.001)} if distorted else {}
    tiny = ring(offset=(3.0, -2.0, 5.0), **extra)
    write_images(tiny, tmp_path / "images")
    expected = None
    layouts = {
        "shared": {**intrinsics(tiny), "frames": frames(tiny)},
        "per_frame": {"frames": [{**f, **intrinsics(tiny)} for f in frames(tiny)]},
        "per_frame_wins": {"fl_x": 1.0, "w": 3, "h": 3, "frames": [{**f, **intrinsics(tiny)} for f in frames(tiny)]},
        "rows_of_three": {
            **intrinsics(tiny),
            "frames": [{**f, "transform_matrix": f["transform_matrix"][:3]} for f in frames(tiny)],
        },
        "float_sizes": {**intrinsics(tiny), "w": 64.0, "h": 48.0, "frames": frames(tiny)},
    }
    for name, document in layouts.items():
        scene = load_capture(write_json(tmp_path / f"{name}.json", document))
        expected = rays(scene) if expected is None else expected
        np.testing.assert_allclose(rays(scene), expected, atol=1e-9)
    for text in (False, True):
        write_colmap(tiny, tmp_path / "sparse" / "0", text)
        np.testing.assert_allclose(rays(load_capture(tmp_path / "sparse")), expected, atol=1e-5)


def test_angle_only_uses_the_real_image_size(tmp_path):
    tiny = ring()
    write_images(tiny, tmp_path / "images")
    angle_x, angle_y = 2 * math.atan(32 / 70), 2 * math.atan(24 / 72)
    scene = load_capture(write_json(tmp_path / "a.json", {"camera_angle_x": angle_x, "frames": frames(tiny)}))
    np.testing.assert_allclose(scene.views[0].camera.K, [[70, 0, 32], [0, 70, 24], [0, 0, 1]])
    both = {"camera_angle_x": angle_x, "camera_angle_y": angle_y, "frames": frames(tiny)}
    scene = load_capture(write_json(tmp_path / "b.json", both), downscale=2)
    np.testing.assert_allclose(scene.views[0].camera.K, [[35, 0, 16], [0, 36, 12], [0, 0, 1]])
    only_y = {"camera_angle_y": angle_y, "frames": frames(tiny)}
    scene = load_capture(write_json(tmp_path / "c.json", only_y))
    np.testing.assert_allclose(scene.views[0].camera.K, [[72, 0, 32], [0, 72, 24], [0, 0, 1]])


def test_two_cameras_inside_frames_and_sizes_from_headers(tmp_path):
    tiny = ring(4)
    write_images(tiny, tmp_path / "images")
    Image.new("RGB", (80, 60)).save(tmp_path / "images/0001.png")
    listed = [{**f, "fl_x": 70.0 if i != 1 else 90.0} for i, f in enumerate(frames(tiny))]
    scene = load_capture(write_json(tmp_path / "transforms.json", {"frames": listed}))
    assert [(v.camera.width, v.camera.height, v.camera.K[0, 0], v.camera.K[0, 2]) for v in scene.views][:2] == [
        (64, 48, 70, 32),
        (80, 60, 90, 40),
    ]


def test_missing_endings(tmp_path):
    tiny = ring(4)
    write_images(tiny, tmp_path / "train")
    listed = [f"./train/{n[:-4]}" for n in tiny.names]
    file = write_json(tmp_path / "transforms_train.json", {**intrinsics(tiny), "frames": frames(tiny, listed)})
    assert [v.name for v in load_capture(tmp_path).views] == [f"train/{n}" for n in tiny.names]
    Image.new("RGB", (64, 48)).save(tmp_path / "train/0002.jpg")
    scene = load_capture(file)
    assert scene.views[2].name == "train/0002.png"
    assert any("0002" in f.text and f.level == "warning" for f in scene.facts if f.key == "images")
    for n in tiny.names:
        (tmp_path / "train" / n).rename(tmp_path / "train" / n.replace(".png", ".JPG.tmp"))
    for n in tiny.names:
        (tmp_path / "train" / n.replace(".png", ".JPG.tmp")).unlink()
        Image.new("RGB", (64, 48)).save(tmp_path / "train" / n.replace(".png", ".JPEG"))
    (tmp_path / "train/0002.jpg").unlink()
    assert [v.name for v in load_capture(file).views] == [f"train/{n[:-4]}.JPEG" for n in tiny.names]


def split_files(tmp_path, tiny, **counts):
    write_images(tiny, tmp_path / "images")
    start, listed = 0, frames(tiny)
    for split, count in counts.items():
        write_json(tmp_path / f"transforms_{split}.json", {**intrinsics(tiny), "frames": listed[start : start + count]})
        start += count


def test_split_files(tmp_path):
    tiny = ring(10)
    split_files(tmp_path, tiny, train=6, val=2, test=2)
    scene = load_capture(tmp_path)
    assert [scene.views[i].name for i in scene.test] == ["images/0008.png", "images/0009.png"]
    assert len(scene.train_views) == 6
    assert "val.json not used" in texts(scene, "files")[0]
    (tmp_path / "transforms_test.json").unlink()
    scene = load_capture(tmp_path)
    assert [scene.views[i].name for i in scene.test] == ["images/0006.png", "images/0007.png"]
    (tmp_path / "transforms_val.json").unlink()
    assert load_capture(tmp_path).test == (0,)
    write_json(tmp_path / "transforms.json", {**intrinsics(tiny), "frames": frames(tiny)})
    scene = load_capture(tmp_path)
    assert len(scene.views) == 10
    assert "transforms_train.json" in texts(scene, "files")[0]
    assert len(load_capture(tmp_path / "transforms_train.json").views) == 6


def test_named_splits_of_nerfstudio(tmp_path):
    tiny = ring(6)
    write_images(tiny, tmp_path / "images")
    document = {
        **intrinsics(tiny),
        "frames": frames(tiny),
        "train_filenames": ["images/0000.png"],
        "test_filenames": ["images/0004.png"],
    }
    write_json(tmp_path / "transforms.json", document)
    assert load_capture(tmp_path).test == (4,)


def test_fl_x_wins_over_the_angle():
    scene = load_capture(shared("cameras/transforms_per_frame_intrinsics_50px"), min_views=1)
    np.testing.assert_allclose(scene.views[0].camera.K, [[50, 0, 25], [0, 50, 25], [0, 0, 1]])
    assert len(scene.points) == 100
    with pytest.raises(InputError, match="1 usable image "):
        load_capture(shared("cameras/transforms_per_frame_intrinsics_50px"))


def test_fisheye_model(tmp_path):
    tiny = ring(3)
    write_images(tiny, tmp_path / "images")
    base = {**intrinsics(tiny), "k1": 0.01, "k2": 0.002, "frames": frames(tiny)}
    scene = load_capture(write_json(tmp_path / "a.json", {**base, "camera_model": "OPENCV_FISHEYE"}))
    assert any("OPENCV_FISHEYE" in t for t in texts(scene, "cameras"))
    for bad in ({"camera_model": "EQUIRECTANGULAR"}, {"k4": 0.1}, {"camera_model": "SPHERICAL"}):
        with pytest.raises(InputError):
            load_capture(write_json(tmp_path / "b.json", {**base, **bad}))


@pytest.mark.parametrize(
    ("document", "match"),
    [
        ({"frames": []}, "empty"),
        ({}, "frames"),
        ([], "frames"),
        ({"frames": [{"file_path": "images/0000.png"}]}, "no frames"),
        ({"frames": [3, None, {"transform_matrix": 3}]}, "no frames"),
    ],
)
def test_no_frames(tmp_path, document, match):
    write_json(tmp_path / "transforms.json", document)
    with pytest.raises(InputError, match=match):
        load_capture(tmp_path)


@pytest.mark.parametrize("extra", [{}, {"fl_x": "wide"}, {"fl_x": -5}, {"camera_angle_x": 90}, {"fl_x": 1e400}])
def test_bad_focal_lengths(tmp_path, extra):
    tiny = ring(3)
    write_images(tiny, tmp_path / "images")
    (tmp_path / "transforms.json").write_text(json.dumps({**extra, "frames": frames(tiny)}))
    with pytest.raises(InputError, match=r"fl_x|camera_angle_x"):
        load_capture(tmp_path)


def test_broken_json(tmp_path):
    (tmp_path / "transforms.json").write_text('{"frames": [')
    with pytest.raises(InputError, match="JSON"):
        load_capture(tmp_path)
    (tmp_path / "transforms.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="JSON"):
        load_capture(tmp_path)


def test_pose_sanity(tmp_path):
    tiny = ring(10)
    write_images(tiny, tmp_path / "images")
    listed = frames(tiny)

    def change(i, matrix):
        listed[i]["transform_matrix"] = np.asarray(matrix).tolist()

    c2w = [np.array(f["transform_matrix"]) for f in listed]
    change(1, np.full((4, 4), np.nan))
    change(2, c2w[2] @ np.diag([0.3, 0.3, 0.3, 1]))  # uniform scale
    change(3, c2w[3] @ np.diag([-1, 1, 1, 1]))  # mirrored
    change(4, c2w[4] @ np.diag([1, 1, 3, 1]))  # sheared
    nearly = c2w[5].copy()
    nearly[:3, :3] += np.random.default_rng(0).normal(0, 2e-3, (3, 3))
    change(5, nearly)
    change(6, np.zeros((4, 4)))
    scene = load_capture(write_json(tmp_path / "transforms.json", {**intrinsics(tiny), "frames": listed}))
    assert [v.name[-8:-4] for v in scene.views] == ["0000", "0002", "0005", "0007", "0008", "0009"]
    said = " ".join(texts(scene, "poses"))
    for word in (
        "2 poses are not finite",
        "1 poses are mirrored",
        "1 poses are sheared",
        "1 poses held a scale",
        "1 poses were no exact",
    ):
        assert word in said
    for v in scene.views:
        R = v.camera.world_to_camera[:3, :3]
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(scene.frame.to_input(scene.views[1].camera.center), tiny.poses[2, :3, 3], atol=1e-9)
    np.testing.assert_allclose(
        scene.views[1].camera.world_to_camera[:3, :3], tiny.world_to_camera[2, :3, :3], atol=1e-9
    )
    for f in listed:
        f["transform_matrix"] = (np.array(c2w[0]) @ np.diag([-1, 1, 1, 1])).tolist()
    write_json(tmp_path / "transforms.json", {**intrinsics(tiny), "frames": listed})
    with pytest.raises(InputError, match="10 mirrored"):
        load_capture(tmp_path)


def test_listed_masks(tmp_path):
    tiny = ring(4)
    write_images(tiny, tmp_path / "images")
    listed = frames(tiny)
    Image.new("L", (64, 48), 255).save(tmp_path / "odd_name.png")
    listed[2]["mask_path"] = "odd_name.png"
    scene = load_capture(write_json(tmp_path / "transforms.json", {**intrinsics(tiny), "frames": listed}))
    mask = scene.views[2].image.load().mask
    assert mask is not None
    assert mask.all()
    assert "masks matched 1/4" in texts(scene, "masks")[0]


def test_fox():
    scene = load_capture(shared("captures/fox"))
    assert len(scene.views) == 50
    assert len(scene.test) == 7
    assert "17 of 67" in texts(scene, "missing")[0]
    assert "67 listed, 50 found" in texts(scene, "images")[0]
    lens = scene.views[0].image.lens  # pyright: ignore[reportAttributeAccessIssue]
    assert (lens.model, lens.width, lens.height) == ("OPENCV", 540, 960)
    expected = (687.76, 687.245, 277.279, 482.634, 0.0578421, -0.0805099, -0.000980296, 0.00015575)
    assert lens.params == pytest.approx(expected)
    assert scene.views[0].image.load().rgb.shape == (960, 540, 3)
    small = load_capture(shared("captures/fox"), downscale=2).views[0]
    assert small.image.load().rgb.shape == (480, 270, 3)
    assert (small.camera.width, small.camera.height) == (270, 480)
    centers = np.stack([np.linalg.inv(s.world_to_camera)[:3, 3] for s in read_transforms(shared("captures/fox")).shots])
    assert len(centers) == 67
    np.testing.assert_allclose(centers.min(0), (1.4654, -5.5548, -2.6629), atol=1e-4)
    np.testing.assert_allclose(centers.max(0), (5.9447, 1.537, 2.8467), atol=1e-4)


def test_lego_blender():
    scene = load_capture(shared("captures/lego_blender"))
    assert (len(scene.views), len(scene.test)) == (50, 10)
    assert scene.views[0].name == "train/r_0.png"
    np.testing.assert_allclose(scene.views[0].camera.K, [[555.5555, 0, 200], [0, 555.5555, 200], [0, 0, 1]], atol=1e-3)
    alphas = [scene.views[i].image.load().alpha for i in (0, 20, 40)]
    assert all(a is not None and 0.1 < a.mean() / 255 < 0.6 for a in alphas)
    pixels = scene.views[0].image.load()
    assert pixels.alpha is not None
    assert (pixels.rgb[pixels.alpha == 0] == 0).all()
    pair = load_capture(shared("cameras/nerfstudio_lego_test"))
    assert (len(pair.views), len(pair.test)) == (2, 1)
    assert pair.views[0].camera.K[0, 0] == pytest.approx(69.444, abs=1e-3)


def test_aerogrid_lists_75_and_finds_none():
    file = shared("cameras/transforms_aerogrid_drone.json")
    shots = read_transforms(file).shots
    assert len(shots) == 75
    centers = np.stack([np.linalg.inv(s.world_to_camera)[:3, 3] for s in shots])
    np.testing.assert_allclose(centers.min(0), (-1.3584, -1.5067, 380.616), atol=1e-3)
    np.testing.assert_allclose(centers.max(0), (1.6506, 9.9154, 460.616), atol=1e-3)
    with pytest.raises(InputError, match=r"75 of 75.*image_path"):
        load_capture(file)
