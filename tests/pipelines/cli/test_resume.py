"""resume=: the settings of the run come back, this command line on top, and what cannot be resumed is told."""

import pytest
from omegaconf import OmegaConf
from sceneloom.data.errors import InputError
from sceneloom.pipelines.cli.resume import replayed
from sceneloom.pipelines.cli.words import parse


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def old(here):
    folder = here / "runs" / "x y" / "2026-01-02"
    (folder / ".hydra").mkdir(parents=True)
    words = ["verb=reconstruct", "train.steps=10", "data.path='/x y'", r"train.init='/a\${b}'", "+extra=1"]
    words += ["strategy=mcmc", "resume=true", "out='/old'"]
    (folder / ".hydra" / "overrides.yaml").write_text(OmegaConf.to_yaml(words))
    return folder


def test_stored_settings_below_the_new_ones(old):
    command, changes = replayed(parse([f"out={old}", "resume=true", "train.steps=20", "extra=2", "seed=1"]))
    assert command.overrides == (
        "data.path='/x y'",
        r"train.init='/a\${b}'",
        "strategy=mcmc",
        "verb=reconstruct",
        "train.steps=20",
        "++extra=2",
        "seed=1",
        f"out='{old}'",
        "resume=true",
    )
    assert changes == ["train.steps: 10 -> 20", "extra: 1 -> 2"]


@pytest.mark.parametrize("form", ["resume={}", "resume=latest", "out={0} resume={0}", "out={} resume=True"])
def test_other_ways_to_name_the_run(form, old):
    words = [w for part in form.format(str(old).replace(" ", "%")).split() for w in [part.replace("%", " ")]]
    command, changes = replayed(parse(words))
    assert command.overrides[-2:] == (f"out='{old}'", "resume=true")
    assert "train.steps=10" in command.overrides
    assert changes == []


def test_latest_is_the_newest_of_that_capture(old, here):
    import os

    other = here / "runs" / "fox" / "later"
    (other / ".hydra").mkdir(parents=True)
    (other / ".hydra" / "overrides.yaml").write_text("[]")
    os.utime(old / ".hydra" / "overrides.yaml", (1, 1))
    assert replayed(parse(["resume=latest"]))[0].value("out") == str(other)
    assert replayed(parse(["resume=latest", "data.path=photos/x y"]))[0].value("out") == str(old)


def test_not_resuming_and_sweeps_change_nothing(old):
    for words in (["seed=1"], ["resume=false", "seed=1"], ["-m", f"out={old}", "resume=true", "seed=1,2"]):
        command = parse(words)
        assert replayed(command) == (command, [])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["resume=true"], "needs out=RUN_FOLDER"),
        (["resume=true", "out=nowhere"], "no run folder .*nowhere"),
        (["resume=true", "out=photos"], "photos is not a run folder"),
        (["resume=photos/point cloud.ply"], "train.init='.*point cloud.ply'"),
        (["resume=absent.ply"], "train.init="),
        (["resume=latest"], "no run below"),
        (["resume=photos", "out=other"], "different runs"),
    ],
)
def test_what_cannot_be_resumed(words, text, here):
    (here / "photos").mkdir()
    (here / "photos" / "point cloud.ply").touch()
    with pytest.raises(InputError, match=text):
        replayed(parse(words))
