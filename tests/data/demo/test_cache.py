"""The cache of the demo: found again, mended when damaged, safe with several builders, clean after failure."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sceneloom.data import demo
from sceneloom.data.demo.cache import cached_folder, is_whole


def build(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "a.bin").write_bytes(b"right")
    (folder / "b.txt").write_text("right")


def leftovers(parent: Path) -> list[Path]:
    return list(parent.glob(".building-*"))


def test_second_call_builds_nothing(tmp_path):
    calls = []
    for _ in range(2):
        cached_folder(tmp_path / "x", lambda f: (calls.append(1), build(f)))
    assert len(calls) == 1
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("damage", ["change", "truncate", "delete", "manifest", "empty"])
def test_damage_is_seen_and_mended(tmp_path, damage):
    folder = cached_folder(tmp_path / "x", build)
    target = folder / "deep" / "a.bin"
    if damage == "change":
        target.write_bytes(b"wrong")
    elif damage == "truncate":
        target.write_bytes(b"")
    elif damage == "delete":
        target.unlink()
    elif damage == "manifest":
        (folder / "manifest.json").write_text("{")
    else:
        for path in folder.glob("*.*"):
            path.unlink()
    assert not is_whole(folder)
    cached_folder(folder, build)
    assert is_whole(folder)
    assert target.read_bytes() == b"right"
    assert not leftovers(tmp_path)


def test_a_failing_build_leaves_nothing(tmp_path):
    def fail(folder):
        build(folder)
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        cached_folder(tmp_path / "x", fail)
    assert list(tmp_path.iterdir()) == []


def test_many_builders_at_once(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "manifest.json").write_text("damaged")
    barrier, failures = threading.Barrier(6), []

    def work():
        def slowly(folder):
            barrier.wait()
            build(folder)

        try:
            assert is_whole(cached_folder(tmp_path / "x", slowly))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    assert is_whole(tmp_path / "x")
    assert not leftovers(tmp_path)


def test_old_leftovers_are_swept_and_fresh_ones_kept(tmp_path):
    old, fresh = tmp_path / ".building-old", tmp_path / ".building-fresh"
    old.mkdir()
    fresh.mkdir()
    os.utime(old, (time.time() - 1e6,) * 2)
    cached_folder(tmp_path / "x", build)
    assert not old.exists()
    assert fresh.exists()


def test_the_place_follows_the_environment_when_called(small_demo, tmp_path, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(tmp_path))
    monkeypatch.setattr("sceneloom.data.demo.capture.write_capture", lambda folder, *rest: build(folder))
    assert demo.demo_capture(width=96, views=12).is_relative_to(tmp_path)


def test_a_damaged_picture_is_rendered_again(small_demo, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(small_demo.parents[2]))
    picture = small_demo / "images" / "003.png"
    right = picture.read_bytes()
    picture.write_bytes(right[: len(right) // 2])
    assert demo.demo_capture(width=96, views=12) == small_demo
    assert picture.read_bytes() == right


_PROGRAM = """
import sys, time
from pathlib import Path
from sceneloom.data.demo.cache import cached_folder, is_whole

def build(folder):
    for i in range(50):
        (folder / f"{i}.txt").write_text("right")
        time.sleep(0.01)

print("ready", flush=True)
sys.stdin.readline()
assert is_whole(cached_folder(Path(sys.argv[1]), build))
"""


def test_processes_that_build_at_once_all_find_the_whole(tmp_path):
    place = tmp_path / "x"
    cached_folder(place, build)
    (place / "b.txt").write_text("wrong")
    path = [p for p in sys.path if p and (Path(p) / "sceneloom").exists()]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-c", _PROGRAM, str(place)]
    runs = [
        subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("go\n")
        run.stdin.flush()
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    for run in runs:
        run.communicate()
    assert is_whole(place)
    assert (place / "49.txt").read_text() == "right"
    assert not leftovers(tmp_path)
