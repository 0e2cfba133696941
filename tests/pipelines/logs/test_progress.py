"""Progress: plain lines are few and tell the truth; the live line draws from what was stored last."""

import io
import itertools
import threading

import pytest
from rich.console import Console
from sceneloom.pipelines.logs.live import LiveProgress
from sceneloom.pipelines.logs.pace import Pace, duration
from sceneloom.pipelines.logs.plain import PlainProgress


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def told():
    lines, clock = [], Clock()
    return PlainProgress(lines.append, clock), lines, clock


def test_work_is_said_at_the_start_every_ten_seconds_and_at_the_end(told):
    plain, lines, clock = told
    for done in range(251):
        plain.working("matching", done, 250)
        clock.now += 0.125
    assert lines == ["matching: 0/250", *(f"matching: {n}/250" for n in (80, 160, 240)), "matching: 250/250, 31.2 s"]


def test_the_end_is_said_once_and_a_second_go_is_said_again(told):
    plain, lines, _ = told
    for done in (0, 3, 3, 3):
        plain.working("features", done, 3)
    assert lines == ["features: 0/3", "features: 3/3, 0.0 s"]
    plain.working("features", 1, 3)
    assert lines[-1] == "features: 1/3"


def trained(plain, clock, steps, seconds_a_step, tests=()):
    pace = Pace(0, steps)
    plain.start(pace)
    for step in range(1, steps + 1):
        clock.now += seconds_a_step
        row = {"step": step, "train/loss": 0.5, "gaussians": 1000, "seconds": step * seconds_a_step}
        if step in tests:
            row["test/psnr"] = 20.0 + step
        pace.update(row)
        plain.progress(row)
    plain.stop()


def test_training_is_said_at_every_tenth(told):
    plain, lines, clock = told
    trained(plain, clock, 100, 0.01)
    assert lines[0] == "training: step 0 of 100"
    assert [line.split(":")[0] for line in lines[1:]] == [f"step {s}/100" for s in range(10, 101, 10)]
    assert "loss 0.5000, 1,000 Gaussians, 100.0 it/s, 0:00 left" in lines[-1]


def test_slow_training_is_said_every_fifteen_seconds_and_every_test(told):
    plain, lines, clock = told
    trained(plain, clock, 100, 4.0, tests=(5,))
    steps = [int(line.split()[1].split("/")[0]) for line in lines[1:]]
    assert steps[:4] == [4, 5, 9, 10]
    assert max(b - a for a, b in itertools.pairwise(steps)) <= 4
    assert "PSNR 25.00 dB" in lines[-1]


def test_speed_counts_training_only_and_follows_a_change():
    pace = Pace(0, 1000)
    for step in range(1, 101):
        pace.update({"step": step, "seconds": step * 0.5})
    assert pace.per_second == pytest.approx(2.0)
    assert pace.seconds_left == pytest.approx(450)
    for step in range(101, 401):
        pace.update({"step": step, "seconds": 50 + (step - 100) * 0.1})
    assert pace.per_second == pytest.approx(10.0, rel=0.05)


def test_nothing_known_nothing_said():
    pace = Pace(5, 10)
    assert (pace.per_second, pace.seconds_left, pace.parts()) == (None, None, [])


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (7.4, "0:07"), (754, "12:34"), (3723, "1:02:03"), (-1, "0:00")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_the_live_line_shows_work_then_training_and_leaves_nothing_running():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    threads = set(threading.enumerate())
    live = LiveProgress(console)
    live.working("matching", 3, 9, "block 1")
    shown = _text(live)
    assert "matching" in shown
    assert "3/9" in shown
    assert "block 1" in shown
    live.working("matching", 9, 9)
    _joined(threads)

    pace = Pace(0, 50)
    live.start(pace)
    pace.update({"step": 25, "train/loss": 0.25, "gaussians": 1234, "test/psnr": 21.5})
    shown = _text(live)
    for part in ("25/50", "loss 0.2500", "PSNR 21.50 dB", "1,234 Gaussians"):
        assert part in shown
    live.stop()
    _joined(threads)
    assert "training" in screen.getvalue()


def test_a_narrow_terminal_loses_nothing():
    pace = Pace(0, 30000)
    for step in (12000, 12345):
        row = {"step": step, "train/loss": 0.25, "gaussians": 123456, "test/psnr": 21.5, "seconds": step / 100}
        pace.update(row)
    for width in (80, 160):
        console = Console(file=io.StringIO(), width=width, force_terminal=True)
        live = LiveProgress(console)
        live._pace = pace
        shown = console.render_str(_text(live)).plain
        for part in ("12345/30000", "loss 0.2500", "PSNR 21.50 dB", "123,456 Gaussians", "100.0 it/s", "2:57 left"):
            assert part in shown, (width, part)
        assert len(shown.strip().splitlines()) == (2 if width == 80 else 1)


def _joined(before):
    """Threads that were started since then end by themselves."""
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()


def _text(live):
    console = Console(file=io.StringIO(), width=live._console.width)
    console.print(live._draw())
    return console.file.getvalue()
