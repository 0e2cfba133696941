"""A verb that notes what it was called with, so that the command line is tested without any work being done."""

import sys
import types

import pytest
from omegaconf import OmegaConf
from sceneloom.data.errors import Failure, InputError
from sceneloom.pipelines.cli.app import run

VERB = """\
# @package _global_
verb:
  name: {name}
  _target_: noting_verbs.{name}
  help: a verb of the tests
  positionals: {positionals}
  paths: [table]
  show: [table]
table: null             # where the table goes
runs: []
{hydra}
"""
NO_FOLDER = "hydra:\n  run: {dir: .}\n  output_subdir: null"


class Calls(list):
    """What the verbs were called with, in order, as plain values; `fail` maps a seed to the exception that it raises."""

    def __init__(self) -> None:
        super().__init__()
        self.fail: dict[int, BaseException] = {}

    def note(self, cfg):
        self.append(OmegaConf.to_container(cfg, resolve=True))
        if error := self.fail.get(cfg.seed):
            raise error
        return 1.0


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """`make`, a verb with a run folder, and `compare RUN…`, one without; the current folder is an empty one."""
    seen = Calls()
    module = types.ModuleType("noting_verbs")
    module.make = module.compare = seen.note  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "noting_verbs", module)
    folder = tmp_path / "conf" / "verb"
    folder.mkdir(parents=True)
    (folder / "make.yaml").write_text(VERB.format(name="make", positionals="[data.path]", hydra=""))
    (folder / "compare.yaml").write_text(VERB.format(name="compare", positionals="[runs...]", hydra=NO_FOLDER))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return seen


@pytest.fixture
def command(calls, tmp_path):
    """command('make', 'seed=3') -> exit code."""
    return lambda *words: run([*map(str, words), "--config-dir", str(tmp_path / "conf")])


__all__ = ["Failure", "InputError"]
