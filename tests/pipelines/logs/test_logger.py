"""One logger: log.txt, metrics.jsonl and the console agree, closing never fails, a training step pays next to nothing."""

import io
import json
import sys
import time

import pytest
from sceneloom.data.errors import InputError
from sceneloom.pipelines.logs.logger import open_logger
from sceneloom.pipelines.logs.metrics import read_rows
from sceneloom.pipelines.run_folder import RunFolder


def opened(folder, **log):
    return open_logger({"log": {"wandb": "disabled"} | log, "seed": 0}, RunFolder(folder))


def text(folder):
    return (folder / "log.txt").read_text(encoding="utf-8")


def test_a_run_leaves_its_lines_with_the_time_and_its_rows(tmp_path, capsys):
    log = opened(tmp_path / "new" / "run")
    log.line("back end: cpu [not markup] é")
    log.warn("2 photos are missing")
    for done in range(4):
        log.compiling(done, 3, f"kernel {done}")
    log.truncate_after(0)
    log.start(0, 3)
    for step in (1, 2, 3):
        row = {"step": step, "train/loss": 0.5, "gaussians": 9, "seconds": step}
        log.progress(row)
        log.row(row)
    log.stop()
    log.finish(None)
    console = capsys.readouterr().out
    written = text(tmp_path / "new" / "run").splitlines()
    for part in (
        "back end: cpu [not markup] é",
        "warning: 2 photos are missing",
        "compiling kernels: 3/3",
        "step 3/3: loss 0.5000",
    ):
        assert part in console
        assert any(part in line for line in written)
    assert all(time.strptime(line[:19], "%Y-%m-%d %H:%M:%S") for line in written)
    assert written[-1].endswith("  finished")
    assert [r["step"] for r in read_rows(tmp_path / "new" / "run" / "metrics.jsonl")] == [1, 2, 3]


def test_a_second_start_appends_and_takes_up_the_rows(tmp_path):
    for first in (1, 4):
        log = opened(tmp_path)
        log.truncate_after(first - 1)
        log.line(f"start at {first}")
        for step in range(first, first + 4):
            log.row({"step": step})
        log.finish(None)
    assert [r["step"] for r in read_rows(tmp_path / "metrics.jsonl")] == [1, 2, 3, 4, 5, 6, 7]
    assert text(tmp_path).count("start at") == 2


@pytest.mark.parametrize(
    ("error", "ending", "traceback"),
    [
        (InputError("data.path=x: no such folder"), "failed: data.path=x: no such folder", False),
        (KeyboardInterrupt("go on with resume=true"), "interrupted: go on with resume=true", False),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero", True),
    ],
)
def test_the_log_tells_how_a_run_ended(tmp_path, error, ending, traceback):
    log = opened(tmp_path)
    try:
        raise error
    except BaseException as caught:
        log.finish(caught)
    log.finish(None)
    assert text(tmp_path).rstrip().endswith(ending)
    assert ("Traceback" in text(tmp_path)) == traceback


def test_finishing_in_the_middle_of_training_never_raises(tmp_path, monkeypatch):
    log = opened(tmp_path)
    log.start(0, 100)
    log.row({"step": 1})
    monkeypatch.setattr(log._metrics, "close", lambda: 1 / 0)
    log.finish(RuntimeError("boom"))
    assert log._text.closed


def test_output_that_nobody_reads_any_more_does_not_stop_a_run(tmp_path, monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone())
    log = opened(tmp_path)
    log.line("still written")
    log.finish(None)
    assert "still written" in text(tmp_path)


def test_a_console_with_few_letters_gets_marks_for_the_others(tmp_path, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    log = opened(tmp_path)
    log.line("Köln")
    log.finish(None)
    assert raw.getvalue().split(b"\n")[0].rstrip() == b"K?ln"
    assert "Köln" in text(tmp_path)


def test_on_a_terminal_lines_scroll_above_a_live_line(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    log = opened(tmp_path)
    log.working("matching", 1, 4)
    log.line("[red]a folder's name[/red]")
    log.working("matching", 4, 4)
    log.start(0, 40)
    log.progress({"step": 20, "train/loss": 0.5})
    log.stop()
    log.finish(None)
    shown = screen.getvalue()
    assert "[red]a folder's name[/red]" in shown
    assert "1/4" in shown
    assert "training" in shown
    assert "matching: 4/4" not in shown  # plain lines are for log.txt
    assert "matching: 4/4" in text(tmp_path)


def test_progress_costs_a_step_next_to_nothing(tmp_path):
    """Work per call, counted and not timed: of 5000 quick steps only the tenths reach the formatting of lines."""
    log = opened(tmp_path)
    log.start(0, 5000)
    formatted = 0
    parts = log._pace.parts

    def counted():
        nonlocal formatted
        formatted += 1
        return parts()

    log._pace.parts = counted
    for step in range(1, 5001):
        log.progress({"step": step, "train/loss": 0.1, "gaussians": 5, "seconds": step * 0.01})
    log.finish(None)
    assert 1 <= formatted <= 11


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"cannot write into .*out="):
        opened(tmp_path / "file" / "run")


def test_rows_are_json_that_others_can_read(tmp_path):
    log = opened(tmp_path)
    log.row({"step": 1, "test/psnr": float("nan")})
    log.finish(None)
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"step": 1, "test/psnr": None}
