"""The console program: one clear line and an exit code for every mistake, quick answers, no folder left behind."""

import os
import subprocess
import sys

import pytest

SUMMARY = (
    "import sys; sys.argv[0] = 'sceneloom'; from sceneloom.pipelines.cli.app import run; code = run(sys.argv[1:]); "
)


def sceneloom(*words, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "sceneloom", *map(str, words)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


MISTAKES = [
    (["train.stepz=3"], "did you mean train.steps"),
    (["trian.steps=3"], "did you mean train.steps"),
    (["train.steps=many"], "train.steps='many': want a whole number"),
    (["train.max_gaussians=0"], "train.max_gaussians=0: want a whole number of at least 1"),
    (["data.downscale=0.5"], "data.downscale=0.5: want a number of at least 1"),
    (["backend=gpu"], "one of auto, cpu, cuda"),
    (["model=splat"], "did you mean splats"),
    (["strategy=mcmc", "strategy.pace=budget"], "strategy.pace is not a key"),
    (["data.path=nowhere"], "nowhere"),
    (["export.formats=[plx]"], "export.formats"),
    (["evaluate", "run=nowhere"], "run=nowhere|there is no such folder"),
    (["evaluate"], "no run given"),
    (["viewer.live=true"], "viewer.live"),
    (["frobnicate"], "not a verb"),
]


@pytest.mark.parametrize(("words", "text"), MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_mistakes_get_one_line_and_exit_code_2(words, text, tmp_path):
    import re

    done = sceneloom(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert lines[-1].startswith("error: ")
    assert re.search(text, lines[-1]), lines[-1]
    assert list(tmp_path.iterdir()) == []


def test_help_and_config_do_not_load_the_heavy_libraries(tmp_path):
    check = (
        SUMMARY
        + "print(sorted({'torch', 'numba', 'scipy', 'wandb', 'pycolmap', 'PIL'} & set(sys.modules))); sys.exit(code)"
    )
    for words in (["--help"], ["--cfg", "job"], ["train.steps=x"], ["viw"]):
        done = subprocess.run(
            [sys.executable, "-c", check, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.stdout.splitlines()[-1] == "[]", (words, done.stdout[-300:])
    assert list(tmp_path.iterdir()) == []


def test_help_names_the_verbs_and_config_is_hydras(tmp_path):
    done = sceneloom("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "== Verbs" in done.stdout
    assert "Groups" in done.stdout
    done = sceneloom("view", "a b.ply", "--cfg", "job", cwd=tmp_path)
    assert done.returncode == 0
    assert f"run: {tmp_path / 'a b.ply'}" in done.stdout


def test_a_bad_job_of_a_sweep_does_not_stop_the_others(tmp_path):
    done = sceneloom("-m", "train.steps=x,y", cwd=tmp_path)
    assert done.returncode != 0
    assert "train.steps" in done.stderr


def test_two_runs_of_one_second_get_two_folders(tmp_path, monkeypatch):
    from sceneloom.pipelines.cli.resolvers import capture_name, run_folder

    monkeypatch.chdir(tmp_path)
    made = {run_folder("photos") for _ in range(5)}
    assert len(made) == 5
    assert all(os.path.isdir(folder) for folder in made)
    assert capture_name(None) == "demo"
    assert capture_name("/x/Mein Haus/") == "Mein Haus"
    assert capture_name("/x/fox/transforms.json") == "fox"
    assert capture_name("..") not in ("", ".", "..")
