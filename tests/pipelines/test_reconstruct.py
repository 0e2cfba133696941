"""The main job from the command line on a small demo capture: everything is written, stages run alone, mistakes leave nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sceneloom.data.demo import demo_capture
from sceneloom.data.formats import read_splats
from sceneloom.data.formats.ply_points import write_points_ply
from sceneloom.data.gaussians import Gaussians
from sceneloom.distributed import checkpoint
from sceneloom.pipelines.cli.app import run

QUICK = [
    "train.steps=60",
    "train.checkpoint_every=20",
    "strategy.every=10",
    "evaluate.every=30",
    "log.wandb=disabled",
    "log.every=5",
]


@pytest.fixture(scope="module")
def capture() -> Path:
    return demo_capture(width=96, views=12)


def settings(capture: Path, out: Path, *more: str) -> list[str]:
    return ["reconstruct", f"data.path={capture}", f"out={out}", *QUICK, *more]


@pytest.fixture(scope="module")
def finished(capture, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "a run, with spaces"
    assert run(settings(capture, out)) == 0
    return out


def rows(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def parameters(out: Path) -> dict[str, np.ndarray]:
    found, warnings = checkpoint.latest(out / "checkpoints")
    assert found is not None
    assert warnings == []
    return {k: v.numpy() for k, v in found.tensors.items()}


def test_everything_is_written(finished):
    metrics = json.loads((finished / "metrics.json").read_text())
    assert metrics["test"]["psnr"] > 10
    assert [v["name"] for v in metrics["test"]["views"]] == ["images/000.png", "images/008.png"]
    assert metrics["test"]["lpips"] is None
    assert metrics["train"]["steps"] == 60
    assert metrics["gaussians"] == len(read_splats(finished / "exports" / "scene.ply"))
    written = rows(finished)
    assert [r["step"] for r in written if "test/psnr" in r] == [30, 60]
    assert all({"step", "seconds", "train/loss"} <= set(r) for r in written)
    assert written[-1]["test/psnr"] == pytest.approx(metrics["test"]["psnr"], abs=1e-6)
    page = (finished / "exports" / "viewer.html").read_text()
    assert "images/000.png" in page
    assert "Held-out" in (finished / "report.html").read_text() or "held-out" in (finished / "report.html").read_text()
    pair = Image.open(finished / "renders" / "test" / "images" / "000.png.png")
    assert pair.size == (96 * 2 + 4, 72)


def test_evaluation_from_checkpoint_is_the_same_and_from_ply_within_a_hundredth(finished, capture, tmp_path):
    before = json.loads((finished / "metrics.json").read_text())["test"]
    assert run(["evaluate", str(finished)]) == 0
    after = json.loads((finished / "metrics.json").read_text())["test"]
    for a, b in zip(before["views"], after["views"], strict=True):
        assert (a["psnr"], a["ssim"]) == (b["psnr"], b["ssim"])
    again = tmp_path / "from_ply"
    ply = finished / "exports" / "scene.ply"
    assert run(settings(capture, again, f"train.init={ply}", "train.steps=0")) == 0
    from_ply = json.loads((again / "metrics.json").read_text())["test"]
    assert from_ply["psnr"] == pytest.approx(before["psnr"], abs=0.01)


def test_exported_splats_are_in_input_coordinates(finished, capture):
    from sceneloom import load_capture, load_model

    scene, model = load_capture(capture), load_model(finished)
    assert model.frame.scale == pytest.approx(scene.frame.scale)
    world, written = model.splats.gaussians(), read_splats(finished / "exports" / "scene.ply")
    np.testing.assert_allclose(written.means, scene.frame.to_input(world.means), atol=1e-5)
    np.testing.assert_allclose(written.log_scales, world.log_scales + np.log(scene.frame.scale), atol=1e-5)
    np.testing.assert_array_equal(written.sh, world.sh)


def test_export_alone_and_what_it_leaves_out(finished):
    assert run(["export", str(finished), "export.formats=[ply,spz]", "export.max_gaussians=500"]) == 0
    assert len(read_splats(finished / "exports" / "scene.ply")) == 500
    assert len(read_splats(finished / "exports" / "scene.spz")) == 500
    facts = json.loads((finished / "exports" / "exports.json").read_text())
    assert "over export.max_gaussians" in facts["files"][0]["note"]
    assert run(["export", str(finished), "export.crop=[[100,100,100],[101,101,101]]"]) == 2


def test_a_finished_run_is_not_touched_unless_asked(finished, capsys):
    before = (finished / "checkpoints").stat().st_mtime_ns
    assert run(["reconstruct", f"out={finished}"]) == 2
    assert "resume=true" in capsys.readouterr().err
    assert run(["reconstruct", f"out={finished}", "resume=true"]) == 0
    assert "train: unchanged" in capsys.readouterr().out
    assert (finished / "checkpoints").stat().st_mtime_ns == before


def test_going_on_beyond_the_old_end(finished, tmp_path, capsys):
    longer = tmp_path / "longer"
    shutil.copytree(finished, longer)
    assert run(["reconstruct", f"out={longer}", "resume=true", "train.steps=80"]) == 0
    said = capsys.readouterr().out
    assert "train.steps was 60" in said
    steps = [r["step"] for r in rows(longer)]
    assert steps == sorted(set(steps))
    assert steps[-1] == 80


def test_a_refused_resume_changes_nothing(finished, tmp_path, capsys):
    run_folder = tmp_path / "run"
    shutil.copytree(finished, run_folder)
    before = (run_folder / "config.yaml").read_text()
    for words, text in [
        (["strategy=mcmc", "train.steps=80"], "another strategy"),
        (["train.exposure=true", "train.steps=80"], "per photo"),
        (["train.max_gaussians=10", "train.steps=80"], "already"),
        (["train.sh_degree=1", "train.steps=80"], "train.sh_degree was 3"),
        (["seed=7", "train.steps=80"], "seed was 0"),
    ]:
        assert run(["reconstruct", f"out={run_folder}", "resume=true", *words]) == 2
        assert text in capsys.readouterr().err
        assert (run_folder / "config.yaml").read_text() == before
    assert run(["reconstruct", f"out={run_folder}", "resume=true"]) == 0


def test_lost_results_are_made_again(finished, tmp_path):
    run_folder = tmp_path / "run"
    shutil.copytree(finished, run_folder)
    shutil.rmtree(run_folder / "exports")
    shard = checkpoint.steps(run_folder / "checkpoints")[-1] / "rank_00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    assert run(["reconstruct", f"out={run_folder}", "resume=true"]) == 0
    assert (run_folder / "exports" / "viewer.html").is_file()
    assert_same_end(run_folder, finished)


def test_other_poses_are_refused_everywhere(finished, capture, tmp_path, capsys):
    turned = tmp_path / "turned"
    shutil.copytree(capture, turned)
    poses = json.loads((turned / "transforms.json").read_text())
    first, second = poses["frames"][3], poses["frames"][4]
    first["transform_matrix"], second["transform_matrix"] = second["transform_matrix"], first["transform_matrix"]
    (turned / "transforms.json").write_text(json.dumps(poses))
    run_folder = tmp_path / "run"
    shutil.copytree(finished, run_folder)
    for words in (
        ["evaluate", f"run={run_folder}"],
        ["reconstruct", f"out={run_folder}", "resume=true", "train.steps=70"],
    ):
        assert run([*words, f"data.path={turned}"]) == 2
        assert "2 photos have other poses" in capsys.readouterr().err


def test_a_run_as_the_start_of_another_keeps_its_place_and_colours(finished, capture, tmp_path, capsys):
    """Fewer photos have another world frame; the splats must land on the same spot, with every band of colour active."""
    fewer = tmp_path / "fewer"
    shutil.copytree(capture, fewer)
    poses = json.loads((fewer / "transforms.json").read_text())
    poses["frames"] = poses["frames"][:9]
    (fewer / "transforms.json").write_text(json.dumps(poses))
    before = json.loads((finished / "metrics.json").read_text())["test"]["views"][0]
    for name, start_from in (("run", finished), ("ply", finished / "exports" / "scene.ply")):
        out = tmp_path / name
        assert run(settings(fewer, out, f"train.init={start_from}", "train.steps=0")) == 0
        after = json.loads((out / "metrics.json").read_text())["test"]["views"][0]
        assert after["name"] == before["name"]
        assert after["psnr"] == pytest.approx(before["psnr"], abs=0.01)
        assert (
            read_splats(out / "exports" / "scene.ply").degree == read_splats(finished / "exports" / "scene.ply").degree
        )


def start(capture: Path, out: Path, *more: str) -> subprocess.Popen:
    words = [sys.executable, "-m", "sceneloom", *settings(capture, out, *more)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_step(out: Path, step: int, process: subprocess.Popen, patience: float = 240) -> None:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and process.poll() is None:
        if (out / "metrics.jsonl").is_file() and any(
            f'"step": {s},' in (out / "metrics.jsonl").read_text() for s in range(step, 60)
        ):
            return
        time.sleep(0.02)


def assert_same_end(a: Path, b: Path) -> None:
    ours, theirs = parameters(a), parameters(b)
    assert set(ours) == set(theirs)
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)
    plain = [{k: v for k, v in r.items() if k != "seconds"} for r in rows(a)]
    assert plain == [{k: v for k, v in r.items() if k != "seconds"} for r in rows(b)]


KILLED = 1 if sys.platform == "win32" else -signal.SIGKILL


def stopped_step(out: Path) -> int | None:
    """The step of the newest checkpoint, all of which must be whole; None without one."""
    return max((checkpoint.load(folder).step for folder in checkpoint.steps(out / "checkpoints")), default=None)


def go_on(capture: Path, out: Path) -> None:
    resume = ["resume=true"] if (out / ".hydra" / "overrides.yaml").is_file() else []
    assert run([*settings(capture, out), *resume]) == 0


def stop_and_resume(capture: Path, out: Path, when: int, stop: Callable[[subprocess.Popen], None], code: int) -> str:
    """Stop the run in the middle, prove that it was, go on; returns what the second run must have said."""
    process = start(capture, out)
    wait_for_step(out, when, process)
    stop(process)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    step = stopped_step(out)
    assert step is not None
    assert 0 < step < 60
    go_on(capture, out)
    return f"resuming after step {step} of 60"


def test_killed_and_resumed_is_bit_equal(finished, capture, tmp_path, capsys):
    said = stop_and_resume(capture, tmp_path / "killed", 21, subprocess.Popen.kill, KILLED)
    assert said in capsys.readouterr().out
    assert_same_end(tmp_path / "killed", finished)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that a process may handle for another")
def test_ctrl_c_ends_after_the_step_with_a_checkpoint(finished, capture, tmp_path, capsys):
    said = stop_and_resume(capture, tmp_path / "stopped", 11, lambda p: p.send_signal(signal.SIGINT), 130)
    assert said in capsys.readouterr().out
    assert_same_end(tmp_path / "stopped", finished)


@pytest.mark.slow
def test_twenty_kills_at_random_moments(finished, capture, tmp_path, capsys):
    random = np.random.default_rng(0)
    killed = resumed = 0
    for trial in range(20):
        out = tmp_path / f"trial_{trial}"
        process = start(capture, out)
        if trial % 2:
            wait_for_step(out, int(random.integers(1, 56)), process)
        else:
            time.sleep(random.uniform(0, 12))
        process.kill()
        process.communicate()
        killed += process.returncode == KILLED
        step = stopped_step(out)
        capsys.readouterr()
        go_on(capture, out)
        if step is not None and step < 60:
            resumed += 1
            assert f"resuming after step {step} of 60" in capsys.readouterr().out
        assert_same_end(out, finished)
    assert killed >= 10  # half of them wait for a step, so they cannot come too late
    assert resumed >= 3


def photo(path: Path, size=(64, 48)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3)).astype(np.uint8)
    Image.fromarray(noise).save(path)


def behind(folder: Path) -> None:
    """Three cameras that look along -z of the world, and points on the +z side (transforms.json has OpenGL axes)."""
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, 0, 3] = [0, 0.1, 0.2]
    frames = []
    for name, pose in zip("abc", poses, strict=True):
        photo(folder / f"{name}.png")
        frames.append({"file_path": f"{name}.png", "transform_matrix": pose.tolist()})
    xyz = np.random.default_rng(0).uniform([-1, -1, 4], [1, 1, 6], (200, 3))
    write_points_ply(folder / "points.ply", xyz, np.full((200, 3), 128, np.uint8))
    (folder / "transforms.json").write_text(json.dumps({"fl_x": 60, "ply_file_path": "points.ply", "frames": frames}))


def make(case: str, folder: Path) -> None:
    if case == "empty folder":
        folder.mkdir()
    elif case == "one image":
        photo(folder / "a.jpg")
    elif case == "points behind":
        behind(folder)
    elif case == "truncated":
        for name in "abc":
            photo(folder / f"{name}.jpg")
            data = (folder / f"{name}.jpg").read_bytes()
            (folder / f"{name}.jpg").write_bytes(data[: len(data) // 2])
    elif case == "no frames":
        folder.mkdir()
        (folder / "transforms.json").write_text('{"camera_angle_x": 0.7, "frames": []}')


@pytest.mark.parametrize("case", ["empty folder", "one image", "points behind", "truncated", "no frames", "wrong path"])
def test_bad_captures_get_one_line_and_leave_nothing(case, tmp_path, capsys):
    make(case, tmp_path / "bad")
    out = tmp_path / "out"
    assert run(["reconstruct", f"data.path={tmp_path / 'bad'}", f"out={out}", "log.wandb=disabled"]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert str(tmp_path / "bad") in errors[0]
    assert not out.exists()


def test_a_full_disk_at_export_keeps_the_old_files(finished, capsys, monkeypatch):
    assert run(["export", str(finished)]) == 0
    before = {
        p.name: p.read_bytes() for p in (finished / "exports").iterdir() if p.name in ("scene.ply", "viewer.html")
    }
    real = os.replace

    def full(source, target):
        if str(target).endswith((".ply", ".html")):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    assert run(["export", str(finished)]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: ")
    assert "No space left" in error
    assert {p.name: p.read_bytes() for p in (finished / "exports").iterdir() if p.name in before} == before
    assert [p for p in (finished / "exports").iterdir() if "tmp" in p.name] == []


def test_library_functions(finished, capture, tmp_path):
    import sceneloom

    scene, model = sceneloom.load_capture(capture), sceneloom.load_model(finished)
    picture = sceneloom.render(model, scene.views[0].camera, depth=True)
    assert picture.rgb.shape == (72, 96, 3)
    photo = scene.views[0].image.load().rgb / 255.0
    assert -10 * np.log10(np.mean((picture.rgb.numpy().clip(0, 1) - photo) ** 2)) == pytest.approx(
        json.loads((finished / "metrics.json").read_text())["test"]["views"][0]["psnr"], abs=0.01
    )
    assert isinstance(model.splats.gaussians(), Gaussians)
    assert sceneloom.open_viewer(model, browser=False).stat().st_size > 50_000
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = sceneloom.nonsense
