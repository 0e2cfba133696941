"""The console program: one clear line and an exit code for every mistake, quick answers, no folder left behind."""

import os
import re
import subprocess
import sys

import pytest
from sceneloom.data.errors import Failure, InputError
from sceneloom.pipelines.cli.app import run

HEAVY = {"torch", "numba", "scipy", "wandb", "pycolmap", "PIL", "numpy"}

MISTAKES = [
    (["train.stepz=3"], "did you mean train.steps"),
    (["train.max_gaussians=0"], "train.max_gaussians=0: want a whole number, 1 or more"),
    (["model=splat"], "did you mean splats"),
    (["strategy=mcmc", "strategy.pace=budget"], "no setting 'strategy.pace'"),
    (["data.path=photo"], "no such file or folder; did you mean photos"),
    (["train.steps=1,2"], "train.steps=1,2 has a comma: add -m"),
    (["log.project=a=b"], "cannot read 'log.project=a=b'"),
    (["seed=${nothing}"], "seed: .*nothing"),
    (["out=photos/file/x"], "cannot make the folder"),
    (["+train.steps=3"], "write train.steps=… without the"),
    (["frobnicate"], "not a verb"),
    (["resume=true"], "needs out="),
]


@pytest.mark.parametrize(("words", "text"), MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_mistakes_get_one_line_and_exit_code_2(words, text, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "file").touch()
    assert run(words) == 2
    said = capfd.readouterr()
    lines = [line for line in said.err.splitlines() if line.strip()]
    assert len(lines) == 1, said.err
    assert lines[0].startswith("error: ")
    assert re.search(text, lines[0]), lines[0]
    assert [p.name for p in tmp_path.iterdir()] == ["photos"]


def test_help_config_and_mistakes_do_not_load_the_heavy_libraries(tmp_path):
    check = "import sys; from sceneloom.pipelines.cli.app import run; code = run(sys.argv[1:]); "
    check += f"print(sorted({HEAVY} & set(sys.modules)), code)"
    for words, code in ((["--help"], 0), (["--cfg", "job"], 0), (["train.steps=x"], 2), (["viw"], 2)):
        done = subprocess.run(
            [sys.executable, "-c", check, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.stdout.splitlines()[-1] == f"[] {code}", (words, done.stdout[-300:], done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_runs_as_a_module_with_its_exit_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "sceneloom", "viw"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'viw' is not a verb; did you mean view?")


def test_config_is_hydras(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["view", "a b.ply", "--cfg", "job"]) == 0
    assert f"run: {tmp_path / 'a b.ply'}" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert re.match(r"sceneloom \S+ \(Hydra \S+\)", capsys.readouterr().out)


def test_the_verb_gets_typed_values_and_absolute_paths(command, calls, tmp_path):
    (tmp_path / "here" / "my photos").mkdir()
    assert command("train.steps=2e3", "make", "my photos", "table=t.csv", "log.project=7", "data.downscale=2") == 0
    (cfg,) = calls
    assert cfg["train"]["steps"] == 2000
    assert isinstance(cfg["train"]["steps"], int)
    assert cfg["log"]["project"] == "7"
    assert cfg["data"]["path"] == str(tmp_path / "here" / "my photos")
    assert cfg["table"] == str(tmp_path / "here" / "t.csv")
    assert command("compare", "a b", "c,d", "seed=5") == 0
    assert calls[-1]["runs"] == [str(tmp_path / "here" / "a b"), str(tmp_path / "here" / "c,d")]


def test_what_a_verb_raises(command, calls, capfd, tmp_path, monkeypatch):
    wrapped = RuntimeError("Error in call to target")
    wrapped.__cause__ = InputError("two\nlines")
    calls.fail = {
        1: InputError("bad input"),
        2: wrapped,
        3: Failure("step 7: NaN"),
        4: KeyError("bug"),
        5: KeyboardInterrupt(),
    }
    codes = [command("make", f"seed={seed}") for seed in (1, 2, 3, 4, 5)]
    said = capfd.readouterr().err
    assert codes == [2, 2, 1, 1, 130]
    assert said.startswith("error: bad input\nerror: two lines\nerror: step 7: NaN\n")
    assert "Traceback" in said
    assert "KeyError: 'bug'" in said
    assert said.rstrip().endswith("interrupted")
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    assert command("make", "seed=1") == 2
    assert "Traceback" in capfd.readouterr().err
    assert os.environ["HYDRA_FULL_ERROR"] == "1"


def test_a_config_error_inside_a_verb_is_a_bug_not_the_users_mistake(command, calls, capfd):
    from omegaconf.errors import ConfigAttributeError

    calls.fail = {1: ConfigAttributeError("Missing key colour")}
    assert command("make", "seed=1") == 1
    assert "Traceback" in capfd.readouterr().err
