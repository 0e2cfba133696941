"""Photos to poses: grouping, the child process, its failures, its cache; real captures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sceneloom.data.capture import load_capture
from sceneloom.data.errors import InputError
from sceneloom.data.images.probe import probe
from sceneloom.data.readers.photos import list_photos, photo_folder
from sceneloom.data.sfm import run
from sceneloom.data.sfm.prepare import Photo, working_copies
from sceneloom.data.sfm.run import SfmOptions, reconstruct

from ...shared_data import shared


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(tmp_path / "cache"))


def save(path: Path, size=(60, 40), tags=None) -> Photo:
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    for tag, value in (tags or {}).items():
        if tag in (0x920A, 0xA405):
            exif.get_ifd(0x8769)[tag] = value
        else:
            exif[tag] = value
    noise = np.random.default_rng(len(path.name)).integers(0, 255, (size[1], size[0], 3), np.uint8)
    Image.fromarray(noise).save(path, exif=exif.tobytes())
    return Photo(path.name, path, probe(path))


def test_listing_skips_and_counts(tmp_path):
    for name in ("a.JPG", "b.jpeg", "sub/c.PNG", ".hidden.jpg", "._a.jpg", "masks/a.png", ".git/x.png"):
        save(tmp_path / name)
    (tmp_path / "readme.txt").write_text("x")
    (tmp_path / "clip.MP4").write_bytes(b"x")
    photos, facts = list_photos(tmp_path)
    assert [p.relative_to(tmp_path).as_posix() for p in photos] == ["a.JPG", "b.jpeg", "sub/c.PNG"]
    said = " | ".join(f.text for f in facts)
    for words in ("3 hidden files", "1 files that are no photos skipped (1 .txt)", "1 videos"):
        assert words in said
    assert photo_folder(tmp_path) == tmp_path
    save(tmp_path / "images/z.jpg")
    assert photo_folder(tmp_path) == tmp_path / "images"


def test_photos_share_a_camera_when_size_and_exif_agree(tmp_path):
    sony = {0x010F: "Sony", 0x0110: "A7", 0x920A: 35.0, 0xA405: 35}
    photos = [
        save(tmp_path / "a.jpg", (600, 400), sony),
        save(tmp_path / "b.jpg", (600, 400), sony),
        save(tmp_path / "c.jpg", (600, 400), {**sony, 0x920A: 50.0, 0xA405: 50}),
        save(tmp_path / "d.jpg", (600, 400)),
        save(tmp_path / "e.jpg", (400, 600), {**sony, 0x0112: 6}),  # the same camera held upright: 600x400 once turned
    ]
    (tmp_path / "work").mkdir()
    names, groups = working_copies(photos, tmp_path / "work", 300)
    assert sorted(names.values()) == ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]
    assert [[names[n] for n in g.names] for g in groups] == [["a.jpg", "b.jpg", "e.jpg"], ["c.jpg"], ["d.jpg"]]
    assert [g.focal for g in groups] == [pytest.approx(35 / 36 * 300), pytest.approx(50 / 36 * 300), None]
    assert {(g.width, g.height) for g in groups} == {(300, 200)}
    for working in names:
        with Image.open(tmp_path / "work" / working) as image:
            assert image.size == (300, 200)


def test_fitting_plain_jpegs_are_copied_as_they_are(tmp_path):
    photo = save(tmp_path / "a.jpg")
    (tmp_path / "work").mkdir()
    names, _ = working_copies([photo, save(tmp_path / "b.jpg")], tmp_path / "work", 300)
    assert (tmp_path / "work" / next(iter(names))).read_bytes() == photo.path.read_bytes()


def run_worker_with(tmp_path, stub: str | None) -> dict:
    """The worker with another `pycolmap` first on its path, or none."""
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "pycolmap.py").write_text(stub if stub is not None else "raise ImportError('No module named pycolmap')")
    worker = Path(run.__file__).with_name("worker.py")
    env = {**os.environ, "PYTHONPATH": str(fake)}
    command = [sys.executable, "-P", str(worker), str(tmp_path / "none.json")]
    child = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    said = child.stdout.read()
    assert child.wait(timeout=60) == 0
    child.stdin.close()  # kept open until here: the worker ends when its parent does
    child.stdout.close()
    return json.loads(said)


def test_absent_pycolmap_is_said(tmp_path):
    assert "pip install 'pycolmap" in run_worker_with(tmp_path, None)["error"]


def test_another_package_of_that_name_is_said(tmp_path):
    error = run_worker_with(tmp_path, "__version__ = '0.0.1'\ndef read_model(): pass\n")["error"]
    assert "0.0.1" in error
    assert "another package" in error


def test_wrong_pycolmap_reaches_the_user_as_one_error(tmp_path, monkeypatch):
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake/pycolmap.py").write_text("class SceneManager: pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    save(tmp_path / "photos/a.jpg")
    save(tmp_path / "photos/b.jpg")
    with pytest.raises(InputError, match="another package"):
        load_capture(tmp_path / "photos")
    assert not list((tmp_path / "cache/sfm").iterdir())  # nothing half-made is left


def test_a_crash_of_the_child_is_one_error(tmp_path, monkeypatch):
    (tmp_path / "fake").mkdir()
    names = ("extract_features", "match_image_pairs", "incremental_mapping", "FeatureExtractionOptions", "Database")
    stub = "import os, sys\n" + "\n".join(f"{n} = None" for n in names)
    stub += "\ndef set_random_seed(s):\n    print('E out of memory', file=sys.stderr, flush=True)\n    os._exit(9)\n"
    (tmp_path / "fake/pycolmap.py").write_text(stub)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    save(tmp_path / "photos/a.jpg")
    save(tmp_path / "photos/b.jpg")
    with pytest.raises(InputError, match=r"exit code 9.*out of memory"):
        load_capture(tmp_path / "photos")


def test_child_ends_with_its_parent(tmp_path):
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "pycolmap.py").write_text("import time\ntime.sleep(600)\n")
    worker = Path(run.__file__).with_name("worker.py")
    child = subprocess.Popen(
        [sys.executable, "-P", str(worker), "x"], env={**os.environ, "PYTHONPATH": str(fake)}, stdin=subprocess.PIPE
    )
    assert child.stdin is not None
    child.stdin.close()  # what happens when the parent is killed
    assert child.wait(timeout=30) == 3


def test_photos_without_overlap_are_refused(tmp_path):
    pytest.importorskip("pycolmap")
    with pytest.raises(InputError, match="overlap"):
        load_capture(shared("captures/room_no_overlap"), sfm={"max_size": 512, "features": 2000})


def test_noise_is_refused_and_leaves_nothing(tmp_path):
    pytest.importorskip("pycolmap")
    for i in range(3):
        noise = np.random.default_rng(i).integers(0, 255, (120, 160, 3), np.uint8)
        (tmp_path / "photos").mkdir(exist_ok=True)
        Image.fromarray(noise).save(tmp_path / f"photos/{i}.png")
    stages = []
    with pytest.raises(InputError, match="no overlap"):
        load_capture(tmp_path / "photos", progress=lambda stage, done, total: stages.append((stage, done, total)))
    assert list(dict.fromkeys(s for s, _, _ in stages)) == ["hashing", "preparing", "features", "matching", "mapping"]
    assert all(0 <= done <= total for _, done, total in stages)
    assert not list((tmp_path / "cache/sfm").iterdir())


def test_small_capture_is_placed_and_cached(tmp_path):
    """Three overlapping photos of a building; masks beside them; the second time nothing is computed."""
    pytest.importorskip("pycolmap")
    source = shared("captures/berlin_opensfm")
    options = {"max_size": 800, "features": 2500}
    scene = load_capture(source, downscale=8, sfm=options)
    assert [v.name for v in scene.views] == ["01.jpg", "02.jpg", "03.jpg"]
    assert (scene.views[0].camera.width, scene.views[0].camera.height) == (408, 306)
    assert len(scene.points) > 150
    facts = {f.key: f.text for f in reversed(scene.facts)}
    assert "3 of 3 photos" in facts["sfm"]
    assert "masks matched 3/3" in facts["masks"]
    lens = scene.views[0].image.lens  # pyright: ignore[reportAttributeAccessIssue]
    assert (lens.width, lens.height) == (3264, 2448)
    assert lens.focal[0] == pytest.approx(2983, rel=0.15)
    photos = [Photo(p.name, p, probe(p)) for p in sorted((source / "images").iterdir())]
    again = reconstruct(photos, SfmOptions(**options))
    assert again.cached


@pytest.mark.slow
def test_brighton_registers_all_18():
    pytest.importorskip("pycolmap")
    from sceneloom.data.images.exif import read_exif

    scene = load_capture(shared("captures/brighton_beach_drone"), downscale=4)
    assert len(scene.views) == 18
    assert len(scene.points) > 3000
    assert "18 of 18" in next(f.text for f in scene.facts if f.key == "sfm")
    gps = []
    for v in scene.views:
        place = read_exif(v.image.path).gps  # pyright: ignore[reportAttributeAccessIssue]
        assert place is not None
        gps.append(place)
    latitude, longitude, altitude = np.array(gps).T
    east = np.radians(longitude - longitude.mean()) * 6378137 * np.cos(np.radians(latitude.mean()))
    north = np.radians(latitude - latitude.mean()) * 6378137
    target = np.stack([east, north, altitude], 1)
    np.testing.assert_allclose(np.ptp(target, axis=0), (84.3, 84.1, 0.4), atol=0.5)
    centers = np.stack([v.camera.center for v in scene.views])
    assert aligned_error(centers, target) < 1.0  # metres


@pytest.mark.slow
def test_fox_as_photos_agrees_with_its_given_poses(tmp_path):
    pytest.importorskip("pycolmap")
    given = load_capture(shared("captures/fox"))
    placed = load_capture(shared("captures/fox/images"), sfm={"features": 4000})
    assert len(placed.views) == 50
    by_name = {v.name.split("/")[-1]: v for v in given.views}
    a = np.stack([v.camera.center for v in placed.views])
    b = np.stack([by_name[v.name].camera.center for v in placed.views])
    assert aligned_error(a, b) < 0.01


def aligned_error(a: np.ndarray, b: np.ndarray) -> float:
    """RMS distance after the best similarity (Umeyama 1991)."""
    a0, b0 = a - a.mean(0), b - b.mean(0)
    U, s, Vt = np.linalg.svd(b0.T @ a0)
    sign = np.diag([1, 1, np.sign(np.linalg.det(U @ Vt))])
    scale = (s * np.diag(sign)).sum() / (a0**2).sum()
    return float(np.sqrt((((scale * (U @ sign @ Vt) @ a0.T).T - b0) ** 2).sum(1).mean()))
