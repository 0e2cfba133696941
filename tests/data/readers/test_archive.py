"""Zipped captures; entries that would escape are refused."""

import zipfile

import pytest
from sceneloom.data.capture import load_capture
from sceneloom.data.errors import InputError

from ..tiny import frames, intrinsics, ring, write_images, write_json


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("top", ["", "my capture/"])
def test_zip(tmp_path, top):
    tiny = ring(4)
    write_images(tiny, tmp_path / "a/images")
    write_json(tmp_path / "a/transforms.json", {**intrinsics(tiny), "frames": frames(tiny)})
    with zipfile.ZipFile(tmp_path / "walk.zip", "w") as archive:
        for file in sorted((tmp_path / "a").rglob("*")):
            if file.is_file():
                archive.write(file, top + file.relative_to(tmp_path / "a").as_posix())
    for _ in range(2):
        scene = load_capture(tmp_path / "walk.zip")
        assert [v.name for v in scene.views] == [f"images/{n}" for n in tiny.names]
        assert scene.name == "walk"


@pytest.mark.parametrize("name", ["../evil.png", "/evil.png", "a/../../evil.png", "C:/evil.png", "..\\evil.png"])
def test_escaping_entries(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("ok.png", b"x")
        archive.writestr(name, b"x")
    with pytest.raises(InputError, match="outside"):
        load_capture(tmp_path / "a.zip")
    assert not list((tmp_path / "cache/unzipped").iterdir())
    assert not list(tmp_path.rglob("evil.png"))


def test_damaged_zip(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(InputError, match="cannot be unpacked"):
        load_capture(tmp_path / "a.zip")
