"""doctor: always an answer, exit code 0, caches emptied by kind."""

import pytest
from omegaconf import OmegaConf
from sceneloom.data.errors import InputError
from sceneloom.data.user_cache import cache_dir
from sceneloom.pipelines.verbs import doctor


def run(clear=None):
    doctor.run(OmegaConf.create({"clear": clear}))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCENELOOM_CACHE", str(tmp_path))
    return tmp_path


def test_says_what_is_there_and_why_not(capsys, own_cache):
    (cache_dir("sfm") / "a").write_bytes(bytes(2_500_000))
    run()
    said = capsys.readouterr().out
    for wanted in ("sceneloom", "torch", "numba", "processor", "memory", "backend=auto", "2.5 MB", str(own_cache)):
        assert wanted in said, wanted
    cuda = next(line for line in said.splitlines() if line.split()[:1] == ["cuda"])
    assert "usable: gsplat" in cuda or ("not usable: " in cuda and not cuda.rstrip().endswith(":"))


def test_a_broken_part_does_not_stop_the_rest(capsys, monkeypatch):
    def broken():
        raise OSError("no such file: libsomething.so")

    monkeypatch.setattr(doctor, "computer", broken)
    run()
    said = capsys.readouterr().out
    assert "libsomething.so" in said
    assert "caches" in said


def test_clears_one_kind_or_all(capsys, own_cache):
    for kind in ("sfm", "demo", "kernels"):
        (cache_dir(kind) / "x").write_bytes(b"1234")
    run("demo")
    assert "cleared demo: 4 B" in capsys.readouterr().out
    assert sorted(p.parent.name for p in own_cache.rglob("x")) == ["kernels", "sfm"]
    run("all")
    assert list(own_cache.rglob("x")) == []
    with pytest.raises(InputError, match="clear=films: want one of kernels, sfm, demo, all"):
        run("films")
