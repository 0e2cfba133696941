"""COLMAP models wherever they lie, binary and text, with everything that is amiss in real ones."""

import shutil

import numpy as np
import pytest
from sceneloom.data.capture import assemble, load_capture
from sceneloom.data.errors import InputError
from sceneloom.data.readers.colmap import read_colmap
from sceneloom.data.readers.colmap_files import read_cameras, read_images, read_points

from ...shared_data import shared
from ..tiny import ring, write_colmap, write_images


def texts(scene, key):
    return [f.text for f in scene.facts if f.key == key]


def input_poses(scene):
    """[N, 4, 4] world-to-camera in the input frame."""
    out = []
    for v in scene.views:
        m = v.camera.world_to_camera.copy()
        m[:3, 3] = -m[:3, :3] @ scene.frame.to_input(v.camera.center)
        out.append(m)
    return np.stack(out)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("place", ["sparse/0", "sparse", "", "colmap/sparse/0"])
def test_every_layout(tmp_path, place, text):
    tiny = ring()
    write_images(tiny, tmp_path / "images")
    write_colmap(tiny, tmp_path / place, text)
    scene = load_capture(str(tmp_path) + "/")
    assert scene.kind == "colmap"
    assert [v.name for v in scene.views] == tiny.names
    np.testing.assert_allclose(input_poses(scene), tiny.world_to_camera, atol=1e-9)
    np.testing.assert_allclose(scene.frame.to_input(scene.points.xyz), tiny.points, atol=1e-9)
    assert scene.test == (0, 8)
    assert scene.views[3].image.load().rgb[0, 0].tolist() == [30, 0, 200]
    assert scene.name == tmp_path.name


@pytest.mark.parametrize("inner", ["sparse", "sparse/0"])
def test_path_at_the_model_itself(tmp_path, inner):
    tiny = ring()
    write_images(tiny, tmp_path / "images")
    write_colmap(tiny, tmp_path / "sparse" / "0")
    scene = load_capture(tmp_path / inner)
    assert len(scene.views) == 10
    assert scene.name == tmp_path.name


def test_images_beside_the_model_and_in_a_named_folder(tmp_path):
    tiny = ring()
    write_colmap(tiny, tmp_path / "a")
    write_images(tiny, tmp_path / "a")
    assert len(load_capture(tmp_path / "a").views) == 10
    write_colmap(tiny, tmp_path / "b" / "sparse" / "0")
    with pytest.raises(InputError, match="image_path"):
        load_capture(tmp_path / "b")
    assert len(load_capture(tmp_path / "b", image_path=tmp_path / "a").views) == 10


def test_our_reader_agrees_with_pycolmap(tmp_path):
    pycolmap = pytest.importorskip("pycolmap")
    folder = shared("captures/fox_colmap/sparse/0")
    theirs = pycolmap.Reconstruction(str(folder))
    images = {i.id: i for i in read_images(folder / "images.bin")}
    assert len(images) == theirs.num_images() == 50
    for i in theirs.images.values():
        np.testing.assert_allclose(images[i.image_id].world_to_camera[:3], i.cam_from_world().matrix(), atol=1e-12)
        assert images[i.image_id].name == i.name
    points, track = read_points(folder / "points3D.bin")
    assert len(points) == theirs.num_points3D() == 7660
    assert track.sum() == theirs.compute_num_observations() == 53590
    theirs.write_text(str(tmp_path))
    again, track_text = read_points(tmp_path / "points3D.txt")
    np.testing.assert_allclose(np.sort(again.xyz, axis=0), np.sort(points.xyz, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(np.sort(track_text), np.sort(track))
    assert read_cameras(tmp_path / "cameras.txt") == pytest.approx(read_cameras(folder / "cameras.bin"))
    from_text = {i.id: i for i in read_images(tmp_path / "images.txt")}
    assert {k: (i.name, i.observations) for k, i in from_text.items()} == {
        k: (i.name, i.observations) for k, i in images.items()
    }


def test_missing_images_are_counted_and_poses_stay_paired(tmp_path):
    tiny = ring()
    write_images(tiny, tmp_path / "images", skip=("0002.png", "0007.png"))
    write_colmap(tiny, tmp_path / "sparse" / "0")
    scene = load_capture(tmp_path)
    (missing,) = texts(scene, "missing")
    assert "2 of 10" in missing
    assert "0002.png, 0007.png" in missing
    for v in scene.views:
        i = tiny.names.index(v.name)
        assert v.image.load().rgb[0, 0, 0] == 10 * i
        np.testing.assert_allclose(scene.frame.to_input(v.camera.center), tiny.poses[i, :3, 3], atol=1e-9)
    with pytest.raises(InputError, match=r"0002\.png, 0007\.png"):
        load_capture(tmp_path, strict=True)


def test_images_in_sub_folders_keep_their_paths(tmp_path):
    tiny = ring(4, ["camA/0001.png", "camA/0002.png", "camB/0001.png", "camB/0002.png"])
    write_images(tiny, tmp_path / "images")
    write_colmap(tiny, tmp_path / "sparse" / "0")
    scene = load_capture(tmp_path)
    assert [v.name for v in scene.views] == tiny.names
    assert [int(v.image.load().rgb[0, 0, 0]) for v in scene.views] == [0, 10, 20, 30]


@pytest.mark.parametrize("text", [False, True])
def test_names_in_any_script_and_with_spaces(tmp_path, text):
    tiny = ring(3, ["Säule.png", "照片 01.png", "a b c.png"])
    write_images(tiny, tmp_path / "images")
    write_colmap(tiny, tmp_path / "sparse" / "0", text)
    assert {v.name for v in load_capture(tmp_path).views} == set(tiny.names)


def test_images_without_pose_are_counted(tmp_path):
    tiny = ring()
    write_images(ring(15), tmp_path / "images")
    write_colmap(tiny, tmp_path / "sparse" / "0")
    scene = load_capture(tmp_path)
    assert len(scene.views) == 10
    (line,) = texts(scene, "unposed")
    assert line.startswith("5 images")


def test_largest_sub_model_is_taken_and_said(tmp_path):
    write_images(ring(), tmp_path / "images")
    small = ring(3)
    write_colmap(small, tmp_path / "sparse" / "0")
    write_colmap(ring(), tmp_path / "sparse" / "1")
    scene = load_capture(tmp_path)
    assert len(scene.views) == 10
    assert "0: 3, 1: 10" in texts(scene, "models")[0]
    assert len(load_capture(tmp_path / "sparse" / "0").views) == 3


@pytest.mark.parametrize("how", ["empty", "absent", "few", "same"])
def test_few_or_no_points(tmp_path, how):
    tiny = ring()
    write_images(tiny, tmp_path / "images")
    if how == "few":
        tiny.points = tiny.points[:2]
    if how == "same":
        tiny.points = np.zeros((5, 3))
    write_colmap(tiny, tmp_path / "sparse" / "0", points=how != "empty")
    if how == "absent":
        (tmp_path / "sparse/0/points3D.bin").unlink()
    scene = load_capture(tmp_path)
    assert len(scene.points) == {"empty": 0, "absent": 0, "few": 2, "same": 5}[how]
    assert any(f.key == "points" and f.level == "warning" for f in scene.facts)


@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("SIMPLE_PINHOLE", (70.0, 32.0, 24.0)),
        ("SIMPLE_RADIAL", (70.0, 32.0, 24.0, 0.1)),
        ("RADIAL", (70.0, 32.0, 24.0, 0.1, -0.01)),
        ("OPENCV", (70.0, 71.0, 32.0, 24.0, 0.1, -0.01, 0.001, 0.002)),
        ("OPENCV_FISHEYE", (70.0, 71.0, 32.0, 24.0, 0.01, -0.01, 0.001, 0.002)),
        ("FULL_OPENCV", (70.0, 71.0, 32.0, 24.0, 0.1, -0.01, 0.001, 0.002, 0.01, 0.02, 0.01, 0.001)),
    ],
)
@pytest.mark.parametrize("text", [False, True])
def test_every_common_model_is_taken(tmp_path, model, params, text):
    tiny = ring(model=model, params=params)
    write_images(tiny, tmp_path / "images")
    write_colmap(tiny, tmp_path / "sparse" / "0", text)
    scene = load_capture(tmp_path)
    assert bool(texts(scene, "lens")) == (model != "SIMPLE_PINHOLE")
    pixels = scene.views[1].image.load()
    assert pixels.rgb.shape == (48, 64, 3)
    assert (pixels.rgb == (10, 0, 200)).all()  # no black border
    assert pixels.mask is None


@pytest.mark.parametrize("file", ["cameras.bin", "images.bin", "points3D.bin"])
def test_truncated_files_are_named(tmp_path, file):
    write_images(ring(), tmp_path / "images")
    write_colmap(ring(), tmp_path / "sparse" / "0")
    path = tmp_path / "sparse/0" / file
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match=file):
        load_capture(tmp_path)
    path.unlink()
    if file != "points3D.bin":
        with pytest.raises(InputError, match=file.split(".")[0]):
            load_capture(tmp_path, kind="colmap")


def test_unknown_model_number_and_bad_text(tmp_path):
    write_images(ring(), tmp_path / "images")
    write_colmap(ring(), tmp_path / "sparse" / "0", text=True)
    (tmp_path / "sparse/0/cameras.txt").write_text("1 WIDE_ANGLE 64 48 70 32 24\n")
    with pytest.raises(InputError, match="WIDE_ANGLE"):
        load_capture(tmp_path)
    (tmp_path / "sparse/0/cameras.txt").write_text("1 PINHOLE sixty 48 70 32 24\n")
    with pytest.raises(InputError, match="sixty"):
        load_capture(tmp_path)


def test_text_without_observation_lines(tmp_path):
    """Some exporters leave the second line of each image blank, some leave it out."""
    tiny = ring(4)
    write_images(tiny, tmp_path / "images")
    write_colmap(tiny, tmp_path / "sparse" / "0", text=True, observed=0)
    assert len(load_capture(tmp_path).views) == 4
    file = tmp_path / "sparse/0/images.txt"
    file.write_text("\n".join(line for line in file.read_text().splitlines() if line))
    assert len(load_capture(tmp_path).views) == 4


def test_images_scaled_after_calibration(tmp_path):
    """Photos shrunk to a quarter beside the full-size model: intrinsics follow, and it is said."""
    tiny = ring(width=256, height=192, params=(280.0, 288.0, 132.0, 92.0))
    write_colmap(tiny, tmp_path / "sparse" / "0")
    tiny.width, tiny.height = 64, 48
    write_images(tiny, tmp_path / "images")
    scene = load_capture(tmp_path)
    np.testing.assert_allclose(scene.views[0].camera.K, [[70, 0, 33], [0, 72, 23], [0, 0, 1]])
    assert "intrinsics scaled" in " ".join(texts(scene, "resolution"))


def test_fox_colmap():
    scene = load_capture(shared("captures/fox_colmap"))
    assert (len(scene.views), len(scene.points), len(scene.test)) == (50, 7660, 7)
    xyz = scene.frame.to_input(scene.points.xyz)
    np.testing.assert_allclose(np.median(xyz, axis=0), (2.476, 0.778, 2.829), atol=1e-3)
    centers = scene.frame.to_input(np.stack([v.camera.center for v in scene.views]))
    np.testing.assert_allclose(centers.min(0), (-3.863, -3.205, -2.665), atol=1e-3)
    np.testing.assert_allclose(centers.max(0), (3.712, 2.724, 3.215), atol=1e-3)
    assert scene.points.error is not None
    assert scene.points.error.mean() == pytest.approx(0.492, abs=1e-3)
    assert any("458.507 x 458.163" in t for t in texts(scene, "cameras"))


def test_fisheye_cameras_alone_name_the_missing_file():
    folder = shared("cameras/colmap_bin_fisheye_cameras_only")
    cameras = read_cameras(folder / "cameras.bin")
    assert len(cameras) == 79
    assert {(c.model, c.width, c.height) for c in cameras.values()} == {("SIMPLE_RADIAL_FISHEYE", 2304, 1296)}
    focal = [c.focal[0] for c in cameras.values()]
    assert (min(focal), max(focal)) == (pytest.approx(876.64, abs=0.01), pytest.approx(1314.58, abs=0.01))
    with pytest.raises(InputError, match=r"no images\.bin"):
        load_capture(folder)


def fill_in_images(source, target, size):
    """A shared model with grey pictures of the right size in place of its absent photos."""
    from PIL import Image

    shutil.copytree(source, target / "sparse" / "0")
    (target / "images").mkdir()
    for shot in read_colmap(source).shots:
        Image.new("L", size, 99).save(target / "images" / shot.name)
    return target


def test_degenerate_focal_lengths_are_warned_of(tmp_path):
    folder = shared("cameras/colmap_bin_degenerate_focal")
    capture = read_colmap(folder)
    assert len(capture.shots) == 14
    assert len(capture.points) == 935
    assert capture.points.error is not None
    assert capture.points.error.mean() == pytest.approx(1.095, abs=1e-3)
    focal = [s.lens.complete(2304, 1296).focal[0] for s in capture.shots]
    assert max(focal) == pytest.approx(1_646_155, abs=1)
    assert min(focal) == pytest.approx(6081, abs=1)
    scene = load_capture(fill_in_images(folder, tmp_path, (2304, 1296)))
    assert any("implausible focal" in f.text and f.level == "warning" for f in scene.facts)


def test_small_submodel_and_arkit():
    capture = read_colmap(shared("cameras/colmap_bin_small_submodel"))
    assert [s.name for s in capture.shots][::4] == ["frame_440.png", "frame_520.png"]
    assert len(capture.points) == 51
    assert capture.points.error is not None
    assert capture.points.error.mean() == pytest.approx(1.604, abs=1e-3)
    lenses = [s.lens.complete(1, 1) for s in capture.shots]
    assert {x.model for x in lenses} == {"SIMPLE_RADIAL"}
    assert min(x.focal[0] for x in lenses) == pytest.approx(3401.59, abs=0.01)
    assert max(x.focal[0] for x in lenses) == pytest.approx(3511.44, abs=0.01)
    arkit = read_colmap(shared("cameras/colmap_txt_arkit_no_points"))
    assert (len(arkit.shots), len(arkit.points)) == (20, 0)
    centers = np.stack([np.linalg.inv(s.world_to_camera)[:3, 3] for s in arkit.shots])
    np.testing.assert_allclose(centers.min(0), (-0.3432, -0.2588, -3.1206), atol=1e-4)
    np.testing.assert_allclose(centers.max(0), (0.5372, 3.5433, 0.2728), atol=1e-4)
    assert arkit.shots[0].lens.complete(1, 1).params == pytest.approx(
        (2567.9902, 2567.9902, 1928.3684, 1080.0807), abs=1e-4
    )
    with pytest.raises(InputError, match="20 of 20"):
        assemble(arkit)
