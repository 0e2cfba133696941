"""The cache folder: where it is told to be, elsewhere when that cannot be written, and cleared by kind."""

from pathlib import Path

from sceneloom.data.user_cache import cache_dir, clear, size


def test_lies_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(tmp_path / "here"))
    assert cache_dir("sfm", "x") == tmp_path / "here" / "sfm" / "x"
    assert cache_dir("sfm", "x").is_dir()


def test_falls_back_to_a_temporary_folder(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder is wanted")
    monkeypatch.setenv("SCENELOOM_CACHE", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = cache_dir("kernels")
    assert found.is_dir()
    assert Path(found).is_relative_to(tmp_path)


def test_clear_frees_one_kind(tmp_path, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(tmp_path))
    (cache_dir("sfm", "a") / "x.bin").write_bytes(bytes(1000))
    (cache_dir("demo") / "y.bin").write_bytes(bytes(10))
    assert clear("sfm") == 1000
    assert size(tmp_path) == 10
    assert clear("sfm") == 0
