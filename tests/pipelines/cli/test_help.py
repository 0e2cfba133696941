"""--help and tab completion know every verb, and take the meaning of settings from the comments in conf/."""

from sceneloom.pipelines.cli import verbs
from sceneloom.pipelines.cli.app import run
from sceneloom.pipelines.cli.complete import understood
from sceneloom.pipelines.cli.help import documented
from sceneloom.pipelines.cli.verbs import CONF


def test_help_names_verbs_settings_groups_and_examples(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    for name in verbs.names():
        assert f"\n  {name} " in said
    assert "train.max_gaussians=" in said
    assert "hard budget" in said
    assert "strategy: default, mcmc" in said
    assert "sceneloom reconstruct data.path=" in said
    assert "==" not in said


def test_help_of_a_verb_of_a_plugin(command, capsys):
    assert command("compare", "--help") == 0
    said = capsys.readouterr().out
    assert "usage: sceneloom compare [RUNS...]" in said
    assert "table=null  where the table goes" in said


def test_every_key_of_the_main_config_is_explained():
    unexplained = [key for key, (_, comment) in documented(CONF / "config.yaml").items() if not comment]
    known = {"train.init_opacity", "train.exposure_rate", "train.poses_rate", "train.checkpoint_every"}
    known |= {"log.project", "log.group", "log.tags"}
    own = [k for k in unexplained if not k.startswith(("hydra.", "train.rates."))]
    assert set(own) <= known


def test_completion_sees_the_verb_as_a_setting():
    assert understood("sceneloom export ex") == ("sceneloom verb=export ex", [])
    assert understood("sceneloom re")[1] == ["reconstruct"]
    assert understood("sceneloom ")[1] == verbs.names()
    assert understood("sceneloom view 'a.ply' train.") == ("sceneloom verb=view train.", [])


def test_completion_of_hydra_still_answers(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMP_LINE", "sceneloom export train.ste")
    assert run(["-sc", "query=bash"]) == 0
    assert capfd.readouterr().out.split() == ["train.steps="]
    monkeypatch.setenv("COMP_LINE", "sceneloom strategy=")
    assert run(["-sc", "query=bash"]) == 0
    assert capfd.readouterr().out.split() == ["strategy=default", "strategy=mcmc"]
