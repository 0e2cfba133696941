"""From a path to a Scene: what is decided, and what is refused, whatever the format."""

import numpy as np
import pytest
from PIL import Image
from sceneloom.data.capture import load_capture
from sceneloom.data.errors import InputError
from sceneloom.data.images.cache import ImageCache
from sceneloom.data.report import lines, warnings

from ..shared_data import shared
from .tiny import frames, intrinsics, ring, write_colmap, write_images, write_json


def colmap(folder, tiny, **kwargs):
    write_images(tiny, folder / "images")
    write_colmap(tiny, folder / "sparse" / "0", **kwargs)
    return folder


def texts(scene, key):
    return [f.text for f in scene.facts if f.key == key]


def test_georeferenced_coordinates_equal_the_local_ones(tmp_path):
    """UTM offsets: the world is the same to float64 rounding, the frame gives the offset back."""
    offset = np.array([500_000.0, 4_500_000.0, 300.0])
    near = load_capture(colmap(tmp_path / "near", ring()))
    far = load_capture(colmap(tmp_path / "far", ring(offset=offset)))
    np.testing.assert_allclose(far.frame.origin - near.frame.origin, offset, atol=1e-6)
    assert far.frame.scale == pytest.approx(near.frame.scale, rel=1e-9)
    np.testing.assert_allclose(far.points.xyz, near.points.xyz, atol=1e-8)
    for a, b in zip(near.views, far.views, strict=True):
        np.testing.assert_allclose(a.camera.world_to_camera, b.camera.world_to_camera, atol=1e-7)
    assert 0.5 < near.extent < 2.0


def test_one_lost_camera_does_not_move_the_world(tmp_path):
    tiny = ring(20)
    sane = load_capture(colmap(tmp_path / "a", tiny)).frame
    tiny.poses[7, :3, 3] += 1e6
    lost = load_capture(colmap(tmp_path / "b", tiny)).frame
    assert np.linalg.norm(lost.origin - sane.origin) < 1.0
    assert lost.scale == pytest.approx(sane.scale, rel=0.2)


def test_cameras_in_one_place(tmp_path):
    tiny = ring(5)
    tiny.poses[:, :3, 3] = (7.0, 8.0, 9.0)
    scene = load_capture(colmap(tmp_path, tiny))
    assert 1.0 < scene.frame.scale < 30.0
    write_colmap(tiny, tmp_path / "sparse" / "0", points=False)
    assert load_capture(tmp_path).frame.scale == 1.0


def test_points_behind_every_camera_are_refused(tmp_path):
    tiny = ring()
    tiny.poses[:, :3, :3] = tiny.poses[:, :3, :3] @ np.diag([-1.0, 1.0, -1.0])  # every camera looks outwards
    with pytest.raises(InputError, match="all 20 points lie behind all 10 cameras"):
        load_capture(colmap(tmp_path, tiny))


def test_points_that_are_no_numbers_are_left_out(tmp_path):
    tiny = ring()
    tiny.points[3] = np.nan
    scene = load_capture(colmap(tmp_path, tiny))
    assert len(scene.points) == 19
    assert "1 points with NaN" in " ".join(texts(scene, "points"))


@pytest.mark.parametrize("strict", [False, True])
def test_damaged_images(tmp_path, strict):
    """Truncated, empty and CMYK JPEGs: the broken are named; CMYK is an image like others."""
    tiny = ring(6, [f"{i}.jpg" for i in range(6)])
    colmap(tmp_path, tiny)
    images = tmp_path / "images"
    noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
    Image.fromarray(noise).save(images / "1.jpg", quality=95)
    (images / "1.jpg").write_bytes((images / "1.jpg").read_bytes()[:2000])
    (images / "2.jpg").write_bytes(b"")
    Image.fromarray(noise).convert("CMYK").save(images / "3.jpg")
    if strict:
        with pytest.raises(InputError, match=r"1\.jpg.*2\.jpg"):
            load_capture(tmp_path, strict=True)
        return
    scene = load_capture(tmp_path)
    assert [v.name for v in scene.views] == ["0.jpg", "3.jpg", "4.jpg", "5.jpg"]
    assert "1.jpg is cut short" in texts(scene, "broken")[0]
    assert "2.jpg the file is empty" in texts(scene, "broken")[0]


def test_mixed_sizes_keep_their_own_camera(tmp_path):
    tiny = ring(25)
    sizes = [(64, 48)] * 10 + [(48, 64)] * 10 + [(80, 60)] * 5
    listed = [{**f, "fl_x": 70.0, "w": w, "h": h} for f, (w, h) in zip(frames(tiny), sizes, strict=True)]
    (tmp_path / "images").mkdir()
    for name, size in zip(tiny.names, sizes, strict=True):
        Image.new("L", size, 77).save(tmp_path / "images" / name)
    write_json(tmp_path / "transforms.json", {"frames": listed})
    scene = load_capture(tmp_path, downscale=2)
    for v, (w, h) in zip(scene.views, sizes, strict=True):
        pixels = v.image.load()
        assert pixels.rgb.shape == (h // 2, w // 2, 3)  # grey is repeated to three channels
        assert (pixels.rgb == 77).all()
        np.testing.assert_allclose(v.camera.K, [[35, 0, w / 4], [0, 35, h / 4], [0, 0, 1]])
    text = texts(scene, "resolution")[0]
    assert "10 images 64x48 -> 32x24" in text
    assert "5 images 80x60 -> 40x30" in text


def oriented(path, orientation, size=(64, 48)):
    """Red at the top left corner of the stored picture."""
    pixels = np.zeros((size[1], size[0], 3), np.uint8)
    pixels[:8, :8] = (255, 0, 0)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(path, exif=exif.tobytes())


@pytest.mark.parametrize(("stated", "turned"), [((64, 48), False), ((48, 64), True)])
def test_exif_turn_follows_the_cameras_size(tmp_path, stated, turned):
    tiny = ring(3)
    (tmp_path / "images").mkdir()
    for n in tiny.names:
        oriented(tmp_path / "images" / n, 6)
    w, h = stated
    write_json(tmp_path / "transforms.json", {"fl_x": 70, "w": w, "h": h, "frames": frames(tiny)})
    scene = load_capture(tmp_path)
    pixels = scene.views[0].image.load()
    assert pixels.rgb.shape == (h, w, 3)
    corner = pixels.rgb[2, -3] if turned else pixels.rgb[2, 2]  # a quarter turn clockwise takes top left to top right
    assert corner[0] > 200
    assert ("3 turned upright" if turned else "0 turned upright") in texts(scene, "exif")[0]


def test_neither_turn_matches(tmp_path):
    tiny = ring(3)
    (tmp_path / "images").mkdir()
    for n in tiny.names:
        oriented(tmp_path / "images" / n, 6)
    write_json(tmp_path / "transforms.json", {"fl_x": 70, "w": 100, "h": 20, "frames": frames(tiny)})
    with pytest.raises(InputError, match=r"0000\.png is 64x48 \(EXIF orientation 6\).*100x20"):
        load_capture(tmp_path)


def test_half_turns_follow_the_rest_of_the_capture(tmp_path):
    """A 180 degree turn fits the stated size either way: photos with quarter turns decide, else the file as stored."""
    tiny = ring(2)
    (tmp_path / "images").mkdir()
    oriented(tmp_path / "images" / tiny.names[0], 3)
    oriented(tmp_path / "images" / tiny.names[1], 6, (48, 64))
    write_json(tmp_path / "transforms.json", {"fl_x": 70, "w": 64, "h": 48, "frames": frames(tiny)})
    assert load_capture(tmp_path).views[0].image.load().rgb[-3, -3, 0] > 200
    oriented(tmp_path / "images" / tiny.names[1], 1)
    scene = load_capture(tmp_path)
    assert scene.views[0].image.load().rgb[2, 2, 0] > 200
    assert any(f.key == "exif" for f in warnings(scene))


def test_real_orientations_through_a_capture(tmp_path):
    """All nine stored turns of one photo, cameras that state the upright size: the sky is up in each."""
    folder = shared("captures/exif_orientation")
    names = [f"Landscape_{i}.jpg" for i in range(9)]
    tiny = ring(9, names)
    listed = [{**f, "file_path": str(folder / n)} for f, n in zip(frames(tiny), names, strict=True)]
    write_json(tmp_path / "transforms.json", {"fl_x": 1500, "w": 1800, "h": 1200, "frames": listed})
    for v in load_capture(tmp_path, downscale=4).views:
        np.testing.assert_allclose(v.image.load().rgb[:100].mean((0, 1)), (129.5, 155.7, 187.9), atol=0.3)


@pytest.mark.parametrize("invert", [False, True])
def test_masks(tmp_path, invert):
    tiny = ring(6)
    colmap(tmp_path, tiny)
    (tmp_path / "masks").mkdir()
    half = np.zeros((96, 128), np.uint8)  # twice the images' size
    half[:, 64:] = 255
    for name in ("0000.png", "0001.png.png", "0002.mask.png", "0003.jpg"):
        Image.fromarray(half).save(tmp_path / "masks" / name)
    Image.fromarray(half * 0).save(tmp_path / "masks" / "0004.png")
    scene = load_capture(tmp_path, downscale=2, invert_masks=invert)
    for v in scene.views[:4]:
        mask = v.image.load().mask
        assert mask is not None
        assert mask.shape == (24, 32)
        assert mask[:, 16:].all() != invert
        assert mask[:, :16].all() == invert
    assert scene.views[5].image.load().mask is None
    said = " ".join(texts(scene, "masks"))
    assert "matched 5/6" in said
    assert ("keep nothing: 0004.png" in said) == (not invert)


def test_mask_folder_elsewhere(tmp_path):
    colmap(tmp_path / "a", ring(3))
    (tmp_path / "m").mkdir()
    Image.new("L", (64, 48), 255).save(tmp_path / "m" / "0001.png")
    scene = load_capture(tmp_path / "a", mask_path=tmp_path / "m")
    assert "matched 1/3" in texts(scene, "masks")[0]
    with pytest.raises(InputError, match="mask_path"):
        load_capture(tmp_path / "a", mask_path=tmp_path / "nothing")


def test_holding_out(tmp_path):
    colmap(tmp_path, ring(17))
    assert load_capture(tmp_path).test == (0, 8, 16)
    assert load_capture(tmp_path, every=5).test == (0, 5, 10, 15)
    none = load_capture(tmp_path, every=0)
    assert none.test == ()
    assert any(f.key == "split" for f in warnings(none))
    with pytest.raises(InputError, match="every=1"):
        load_capture(tmp_path, every=1)
    assert load_capture(colmap(tmp_path / "two", ring(2))).test == ()


@pytest.mark.parametrize(
    "bad",
    [
        {"downscale": 0},
        {"downscale": "half"},
        {"downscale": float("nan")},
        {"every": -1},
        {"kind": "video"},
        {"sfm": {"quality": 3}},
        {"sfm": {"matcher": "magic"}},
    ],
)
def test_bad_options_are_named(tmp_path, bad):
    colmap(tmp_path, ring(3))
    with pytest.raises(InputError, match=str(next(iter(bad)))):
        load_capture(tmp_path, **bad)


def test_nothing_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_capture(tmp_path / "wrong")
    with pytest.raises(InputError, match=r"folder is empty.*transforms.json.*sparse"):
        load_capture(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"1 \.txt"):
        load_capture(tmp_path)
    with pytest.raises(InputError, match=r"single \.txt file"):
        load_capture(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="video"):
        load_capture(shared("captures/video/room.mp4"))
    with pytest.raises(InputError, match="frames"):
        load_capture(shared("cameras/inria_output_cameras.json"))
    for kind in ("colmap", "transforms", "photos"):
        with pytest.raises(InputError):
            load_capture(tmp_path, kind=kind)


def test_one_image(tmp_path):
    colmap(tmp_path / "posed", ring(1))
    with pytest.raises(InputError, match="1 usable image "):
        load_capture(tmp_path / "posed")
    write_images(ring(1), tmp_path / "photos")
    with pytest.raises(InputError, match="at least 2 that overlap"):
        load_capture(tmp_path / "photos")


def test_report_and_cache_over_a_capture(tmp_path):
    tiny = ring(10)
    write_images(tiny, tmp_path / "images")
    write_json(tmp_path / "transforms.json", {**intrinsics(tiny), "frames": frames(tiny)})
    scene = load_capture(tmp_path)
    report = lines(scene)
    assert report[0].endswith("10 views, 0 points")
    assert any(line.startswith("! points") for line in report)
    assert all("\n" not in line for line in report)
    cache = ImageCache(1 << 20)
    cache.prefetch(scene.views)
    assert [int(cache.get(v).rgb[0, 0, 0]) for v in scene.views] == [10 * i for i in range(10)]


def test_paths_with_spaces_accents_and_brackets(tmp_path):
    folder = tmp_path / "Mes photos, été [1]=x"
    assert len(load_capture(colmap(folder, ring(3))).views) == 3
