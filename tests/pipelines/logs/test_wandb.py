"""The copy in W&B: it never fails or holds up a run, keeps one id over resumes, says how to upload what is offline."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest
from sceneloom.data.errors import InputError
from sceneloom.pipelines.logs import wandb_run
from sceneloom.pipelines.logs.logger import open_logger
from sceneloom.pipelines.logs.wandb_run import WandbOptions, has_key, resolved_mode
from sceneloom.pipelines.run_folder import RunFolder, write_json

CONFIG = {"log": {"wandb": "auto", "project": "p", "group": "g", "tags": ["a", "b"]}, "train": {"steps": 3}}


@pytest.fixture(autouse=True)
def _nobody_is_logged_in(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("WANDB_") or name == "NETRC":
            monkeypatch.delenv(name)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    for name in ("WANDB_SILENT", "WANDB_ERROR_REPORTING"):  # restored after the test
        monkeypatch.setenv(name, "x")


class FakeRun:
    def __init__(self, **how):
        self.how, self.rows, self.summary, self.metrics, self.code, self.fails = how, [], {}, [], None, False

    def define_metric(self, name, step_metric=None):
        self.metrics.append((name, step_metric))

    def log(self, row):
        if self.fails:
            raise ConnectionError("gone")
        self.rows.append(row)

    def finish(self, exit_code=0):
        self.code = exit_code


@pytest.fixture
def fake(monkeypatch):
    """A wandb whose runs are kept in .runs; .refuse(mode) makes init fail for a mode."""
    module = types.ModuleType("wandb")
    module.__spec__ = importlib.util.spec_from_loader("wandb", loader=None)
    module.runs, module.refused, module.torn = [], set(), 0

    def init(**how):
        if how["mode"] in module.refused:
            raise TimeoutError("no answer")
        module.runs.append(FakeRun(**how))
        return module.runs[-1]

    def teardown():
        module.torn += 1

    module.init, module.teardown = init, teardown
    module.Settings = lambda **values: values
    module.Image = lambda path, caption: ("image", path, caption)
    module.Table = lambda columns, data: ("table", columns, data)
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


def run_once(folder, error=None, config=CONFIG, step=1):
    run = RunFolder(folder)
    log = open_logger(config, run)
    log.start(step - 1, 10)
    log.row({"step": step, "train/loss": 0.5, "test/psnr": None})
    log.image("test/best", folder / "best.png", step)
    write_json(
        run.metrics, {"test": {"psnr": 21.0, "lpips": None, "views": [{"name": "a", "psnr": 21.0}]}, "gaussians": 5}
    )
    log.finish(error)


def test_everything_arrives_on_its_own_step_axis(fake, tmp_path):
    run_once(tmp_path / "runs" / "fox")
    (run,) = fake.runs
    assert run.how["mode"] == "offline"
    assert run.how["config"] == CONFIG
    assert (run.how["project"], run.how["group"], run.how["tags"]) == ("p", "g", ["a", "b"])
    assert run.how["resume"] == "allow"
    assert run.how["dir"] == str(tmp_path / "runs" / "fox")
    assert run.how["settings"]["init_timeout"] <= 20
    assert ("*", "step") in run.metrics
    assert run.rows[0] == {"step": 1, "train/loss": 0.5}
    assert run.rows[1]["test/best"][:2] == ("image", str(tmp_path / "runs" / "fox" / "best.png"))
    assert run.rows[2] == {"final/views": ("table", ["name", "psnr"], [["a", 21.0]])}
    assert run.summary == {"final/psnr": 21.0, "final/gaussians": 5}
    assert run.code == 0


def test_a_failed_run_is_marked_failed(fake, tmp_path):
    run_once(tmp_path, RuntimeError("boom"))
    assert fake.runs[0].code == 1


def test_a_resumed_run_keeps_its_id_and_another_run_does_not(fake, tmp_path):
    run_once(tmp_path / "a")
    run_once(tmp_path / "a", step=2)
    run_once(tmp_path / "b")
    ids = [r.how["id"] for r in fake.runs]
    assert ids[0] == ids[1] != ids[2]


def test_with_a_key_it_is_online_and_offline_when_the_server_is_silent(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    run_once(tmp_path / "a")
    assert fake.runs[-1].how["mode"] == "online"
    fake.refused = {"online"}
    run_once(tmp_path / "b")
    assert fake.runs[-1].how["mode"] == "offline"
    assert fake.torn == 1
    assert fake.runs[-1].rows[0]["step"] == 1
    assert "not reachable (TimeoutError: no answer); this run is kept offline" in capsys.readouterr().out


def test_what_breaks_is_said_once_and_the_run_goes_on(fake, tmp_path, capsys):
    fake.refused = {"offline"}
    run_once(tmp_path / "a")
    out = capsys.readouterr().out
    assert out.count("W&B is off") == 1
    assert "TimeoutError: no answer" in out

    fake.refused = set()
    log = open_logger(CONFIG, RunFolder(tmp_path / "b"))
    log.start(0, 5)
    log.row({"step": 1})
    for _ in range(1000):
        if fake.runs and fake.runs[-1].rows:
            break
        time.sleep(0.01)
    fake.runs[-1].fails = True
    for step in range(2, 6):
        log.row({"step": step})
    log.finish(None)
    assert capsys.readouterr().out.count("W&B is off") == 1
    assert len((tmp_path / "b" / "metrics.jsonl").read_text().splitlines()) == 5


def test_a_service_that_hangs_does_not_hold_up_the_end(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wandb_run, "WAIT_SECONDS", 0.2)
    release = threading.Event()
    fake.init = lambda **how: release.wait(60)
    run_once(tmp_path)
    release.set()
    assert "W&B is off for the rest of this run: it did not end within" in capsys.readouterr().out


def test_disabled_does_not_even_import_it(fake, tmp_path):
    run_once(tmp_path, config={"log": {"wandb": "disabled"}})
    assert fake.runs == []
    assert not [t for t in threading.enumerate() if t.name == "wandb"]


def test_a_run_that_never_trains_is_not_one(fake, tmp_path):
    open_logger(CONFIG, RunFolder(tmp_path)).finish(InputError("no photos"))
    assert fake.runs == []
    assert not (tmp_path / "wandb_id.txt").exists()


def test_without_the_package_one_line_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wandb_run, "find_spec", lambda name: None)
    run_once(tmp_path)
    assert capsys.readouterr().out.count("the package is not installed") == 1


def test_a_key_is_found_in_the_environment_or_in_netrc(monkeypatch, tmp_path):
    assert not has_key()
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine elsewhere.org login user password x\n")
    assert not has_key()
    (home / ".netrc").write_text("machine api.wandb.ai login user password x\n")
    assert has_key()
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org:8443")
    assert not has_key()
    monkeypatch.setenv("WANDB_API_KEY", "x")
    assert has_key()


def test_modes(monkeypatch):
    assert resolved_mode(WandbOptions("disabled")) == ("disabled", None)
    assert resolved_mode(WandbOptions("auto")) == ("offline", None)
    mode, line = resolved_mode(WandbOptions("online"))
    assert mode == "offline"
    assert "no key found" in line
    monkeypatch.setenv("WANDB_API_KEY", "x")
    assert resolved_mode(WandbOptions("auto"))[0] == "online"
    assert resolved_mode(WandbOptions("offline"))[0] == "offline"
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert resolved_mode(WandbOptions("auto"))[0] == "disabled"
    with pytest.raises(InputError, match=r"log.wandb=maybe: want one of auto, online"):
        WandbOptions("maybe")


REAL = """
import json, sys, pathlib
from sceneloom.pipelines.logs.logger import open_logger
from sceneloom.pipelines.run_folder import RunFolder
log = open_logger(json.loads(sys.argv[1]), RunFolder(pathlib.Path(sys.argv[2])))
log.start(0, 9)
log.row({"step": int(sys.argv[3]), "train/loss": 0.5})
log.finish(RuntimeError("on purpose") if sys.argv[4:] else None)
"""


def test_the_real_package_offline_ends_by_itself_and_segments_share_an_id(tmp_path):
    pytest.importorskip("wandb")
    folder = tmp_path / "a run"
    env = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")} | {"HOME": str(tmp_path)}
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    config = json.dumps(CONFIG | {"log": {"wandb": "offline"}})
    for arguments in (["1"], ["2", "fail"]):
        done = subprocess.run(
            [sys.executable, "-c", REAL, config, str(folder), *arguments],
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "W&B is off" not in done.stdout
    segments = sorted((folder / "wandb").glob("offline-run-*"))
    assert len(segments) == 2
    assert len({s.name.rsplit("-", 1)[1] for s in segments}) == 1
    assert done.stdout.count("wandb sync '") == 1
    assert all(str(s) in done.stdout for s in segments)
