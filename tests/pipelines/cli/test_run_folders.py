"""Where runs are kept, alone and in sweeps; relative paths; nothing shared, nothing left behind by a mistake."""

from pathlib import Path

import pytest
from sceneloom.data.errors import InputError
from sceneloom.pipelines.cli import resolvers
from sceneloom.pipelines.cli.resolvers import capture_name


def test_default_folder_is_named_after_the_capture(command, calls, tmp_path):
    (tmp_path / "here" / "my photos").mkdir()
    assert command("make", "data.path=my photos") == 0
    assert command("make") == 0
    first, second = (Path(c["out"]) for c in calls)
    assert first.parent == tmp_path / "here" / "runs" / "my photos"
    assert second.parent == tmp_path / "here" / "runs" / "demo"
    assert (first / ".hydra" / "overrides.yaml").is_file()


def test_two_processes_of_one_second_do_not_share(command, calls, monkeypatch):
    monkeypatch.setattr(resolvers, "forget", lambda: resolvers._stamp.__setitem__(slice(None), ["noon"]))
    for _ in range(3):
        assert command("make") == 0
    assert [Path(c["out"]).name for c in calls] == ["noon", "noon-2", "noon-3"]
    assert command("-m", "make", "seed=1,2") == 0
    assert command("-m", "make", "seed=1,2") == 0
    assert [Path(c["out"]).parent.name for c in calls[3:]] == ["noon", "noon", "noon-2", "noon-2"]


def test_a_named_folder_is_taken_as_it_is(command, calls, tmp_path):
    for _ in range(2):
        assert command("make", "out=a b/c") == 0
    assert [c["out"] for c in calls] == [str(tmp_path / "here" / "a b" / "c")] * 2


def test_every_job_of_a_sweep_has_its_own(command, calls, tmp_path):
    here = tmp_path / "here"
    assert command("-m", "make", "seed=1,2", "out=s w") == 0
    assert [c["out"] for c in calls] == [str(here / "s w" / "0"), str(here / "s w" / "1")]
    calls.clear()
    assert command("-m", "make", "out=one,two") == 0
    assert [c["out"] for c in calls] == [str(here / "one"), str(here / "two")]
    calls.clear()
    assert command("-m", "make", "seed=1,2") == 0
    assert len({c["out"] for c in calls}) == 2
    assert all(Path(c["out"]).parents[1] == here / "runs" / "sweeps" for c in calls)


def test_relative_paths_are_of_the_launch_folder_whatever_hydra_does(command, calls, tmp_path):
    (tmp_path / "here" / "photos").mkdir()
    for words in (["hydra.job.chdir=true"], ["hydra.job.chdir=false"], ["-m", "hydra.job.chdir=true"]):
        assert command("make", "data.path=photos", *words) == 0
        assert calls[-1]["data"]["path"] == str(tmp_path / "here" / "photos")
        assert Path(calls[-1]["out"]).is_dir()
    assert sorted(p.name for p in (tmp_path / "here").iterdir()) == ["photos", "runs"]


def test_a_mistake_leaves_no_folder_but_work_stays(command, calls, tmp_path):
    calls.fail = {1: InputError("empty capture"), 2: RuntimeError("bug")}
    assert command("make", "seed=1") == 2
    assert list((tmp_path / "here").rglob("config.yaml")) == []
    assert command("make", "seed=2") == 1
    assert len(list((tmp_path / "here").rglob(".hydra/config.yaml"))) == 1
    assert command("make", "seed=0", "out=kept") == 0
    assert command("make", "seed=1", "out=kept") == 2
    assert (tmp_path / "here" / "kept" / ".hydra").is_dir()


def test_a_verb_without_a_folder_makes_none(command, calls, tmp_path):
    assert command("compare", "x", "y") == 0
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (None, "demo"),
        ("/x/Mein Haus/", "Mein Haus"),
        ("/x/fox/transforms.json", "fox"),
        ("/x/fox/transforms_train.json", "fox"),
        ("/x/dive.mp4", "dive"),
        ("/x/a:b*c?", "a_b_c_"),
        ("/", "scene"),
    ],
)
def test_names_of_captures(path, name):
    assert capture_name(path) == name


def test_names_of_captures_are_never_empty_or_dots():
    for path in ("..", ".", "/..", "x/..", "   ", "/***"):
        assert capture_name(path).strip("._ ") or capture_name(path) == "_"
