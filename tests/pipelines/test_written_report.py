"""report.html from what the stages left in a run folder."""

import base64
import io
import re
from dataclasses import replace

from PIL import Image
from sceneloom.data.scene import Fact
from sceneloom.pipelines.logs.logger import open_logger
from sceneloom.pipelines.logs.metrics import MetricsFile
from sceneloom.pipelines.run_folder import RunFolder, write_json
from sceneloom.pipelines.stages.state import State
from sceneloom.pipelines.written_report import picked, write_report
from sceneloom.renderers.splats.backends import choose
from sceneloom.renderers.splats.render import SplatRenderer

from .logs.test_top_view import EVIL, capture


def state(folder) -> State:
    run = RunFolder(folder)
    scene = replace(capture(), facts=(Fact("masks", f"2 masks {EVIL}", "warning"),))
    config = {"log": {"wandb": "disabled"}, "data": {"path": EVIL}, "seed": 3}
    return State(config, run, open_logger(config, run), SplatRenderer(choose("cpu")), scene)


def test_a_finished_run_is_told_whole(tmp_path):
    s = state(tmp_path)
    views = [{"name": f"p{i}.jpg", "psnr": 20.0 + i, "ssim": 0.8, "seconds": 0.1} for i in range(5)]
    metrics = {
        "test": {"psnr": 22.0, "ssim": 0.8, "lpips": None, "views": views},
        "train": {"seconds": 9.0, "steps": 40},
        "gaussians": 1234,
    }
    write_json(s.run.metrics, metrics)
    for i in range(5):
        path = s.run.renders / "test" / f"p{i}.jpg.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (80, 30), (40 * i, 0, 0)).save(path)
    rows = MetricsFile(s.run.metrics_rows)
    for step in range(1, 41):
        rows.row({"step": step, "train/loss": 1 / step} | ({"test/psnr": 15 + step / 10} if step % 10 == 0 else {}))
    rows.close()
    s.run.exports.mkdir()
    write_json(
        s.run.exports / "exports.json",
        {"files": [{"file": "viewer.html", "bytes": 2_000_000, "note": EVIL}], "lost": []},
    )
    page = write_report(s).read_text(encoding="utf-8")
    s.log.finish(None)

    pictures = [base64.b64decode(p) for p in re.findall(r"data:image/jpeg;base64,([^\"]+)", page)]
    reds = [Image.open(io.BytesIO(p)).getpixel((5, 5))[0] for p in pictures]
    assert [round(r / 40) for r in reds] == [4, 2, 0], "best, median, worst"
    assert page.count("<svg") >= 3
    assert 'href="exports/viewer.html"' in page
    assert "1,234" in page
    assert "<img src=x" not in page
    assert "class=warning><td>masks" in page


def test_a_run_that_was_not_evaluated_has_a_report_too(tmp_path):
    s = state(tmp_path)
    page = write_report(s).read_text(encoding="utf-8")
    s.log.finish(None)
    assert "from above" in page
    assert "seed" in page


def test_which_pictures_are_shown():
    views = [{"name": str(p), "psnr": p} for p in (3.0, 1.0, 2.0)]
    assert [(which, v["psnr"]) for which, v in picked(views)] == [("best", 3.0), ("median", 2.0), ("worst", 1.0)]
    assert [which for which, _ in picked(views[:2])] == ["best", "worst"]
    assert [which for which, _ in picked(views[:1])] == ["best"]
    assert picked([{"name": "a", "psnr": None}]) == []
