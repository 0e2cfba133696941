"""Scratch folders go away, also those of killed runs; damaged kept points are made again."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from sceneloom.data.scene import Camera, Pixels, Points, View
from sceneloom.data.sfm import run, triangulate
from sceneloom.data.sfm.prepare import Photo
from sceneloom.data.sfm.run import SfmOptions
from sceneloom.data.sfm.scratch import scratch_folder
from sceneloom.data.user_cache import cache_dir


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(tmp_path / "cache"))


def leftover(name: str, hours: float, hours_inside: float) -> Path:
    folder = cache_dir("sfm") / name
    (folder / "images").mkdir(parents=True)
    for path, age in ((folder / "images", hours_inside), (folder, hours)):
        then = time.time() - 3600 * age
        os.utime(path, (then, then))
    return folder


def leftovers() -> set[str]:
    stale = leftover("making-stale", 30, 30)
    alive, busy = leftover("making-alive", 1, 30), leftover("making-busy", 30, 1)
    result = leftover("0123abcd", 900, 900)
    assert all(folder.is_dir() for folder in (stale, alive, busy, result))
    return {alive.name, busy.name, result.name}


def test_only_stale_folders_go_and_the_own_one_always():
    kept, parent = leftovers(), cache_dir("sfm")

    def interrupted() -> None:
        with scratch_folder(parent) as folder:
            (folder / "file").write_text("x")
            assert {p.name for p in parent.iterdir()} == kept | {folder.name}
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {p.name for p in parent.iterdir()} == kept


def test_reconstruction_clears_up(tmp_path, monkeypatch):
    kept = leftovers()

    def compute(photos, options, threads, progress, scratch):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_compute", compute)
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(KeyboardInterrupt):
        run.reconstruct([Photo("a.jpg", tmp_path / "a.jpg", None)], SfmOptions())  # pyright: ignore[reportArgumentType]
    assert {p.name for p in cache_dir("sfm").iterdir()} == kept


@pytest.mark.parametrize("harm", ["cut", "empty", "text", "one byte"])
def test_damaged_points_are_made_again(monkeypatch, harm):
    class Source:
        def load(self) -> Pixels:
            return picture

    picture, made = Pixels(np.zeros((4, 4, 3), np.uint8)), []
    view = View("a.png", Camera(np.eye(3), 4, 4, np.eye(4)), Source())
    points = Points(np.ones((50, 3)), np.full((50, 3), 7, np.uint8))
    kept = leftovers()

    def compute(*_):
        made.append(1)
        return points

    monkeypatch.setattr(triangulate, "_compute", compute)

    def again() -> Points:
        return triangulate.triangulate([view], lambda i: picture, SfmOptions())

    again()
    (place,) = cache_dir("sfm").glob("points-*.npz")
    assert {p.name for p in cache_dir("sfm").iterdir()} == kept | {place.name}
    assert len(again()) == 50
    assert len(made) == 1
    data = bytearray(place.read_bytes())
    if harm == "one byte":
        data[data.index(b"\x07" * 50)] ^= 1
    place.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "text": b"PK\x03\x04", "one byte": data}[harm])
    np.testing.assert_array_equal(again().rgb, points.rgb)
    assert len(made) == 2
