"""metrics.jsonl survives kills in mid-line, resumes and numbers that are not finite."""

import json
import math

import numpy as np
import pytest
from sceneloom.data.errors import InputError
from sceneloom.pipelines.logs.metrics import MetricsFile, read_rows


def written(path, *rows):
    file = MetricsFile(path)
    for row in rows:
        file.row(row)
    return file


def test_a_row_is_on_disk_before_the_next_one(tmp_path):
    path = tmp_path / "metrics.jsonl"
    file = written(path, {"step": 1, "train/loss": np.float32(0.5), "gaussians": np.int64(7), "note": "é"})
    assert read_rows(path) == [{"step": 1, "train/loss": 0.5, "gaussians": 7, "note": "é"}]
    file.close()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_what_is_not_finite_becomes_null_and_stays_json(tmp_path, value):
    path = tmp_path / "metrics.jsonl"
    written(path, {"step": 1, "loss": value}).close()
    assert json.loads(path.read_text(), parse_constant=pytest.fail) == {"step": 1, "loss": None}


def test_rows_are_flat(tmp_path):
    with pytest.raises(TypeError, match="flat"):
        written(tmp_path / "metrics.jsonl", {"step": 1, "views": [1, 2]})


def test_a_line_cut_by_a_kill_costs_only_itself(tmp_path):
    path = tmp_path / "metrics.jsonl"
    written(path, {"step": 1}, {"step": 2}).close()
    path.write_bytes(path.read_bytes()[:-4])
    assert read_rows(path) == [{"step": 1}]
    written(path, {"step": 3}).close()
    assert read_rows(path) == [{"step": 1}, {"step": 3}]


def test_truncating_keeps_exactly_the_rows_up_to_a_step(tmp_path):
    path = tmp_path / "metrics.jsonl"
    file = written(path, *({"step": s, "loss": s / 10} for s in range(1, 8)))
    with path.open("a", encoding="utf-8") as cut:
        cut.write('{"step": 3, "lo')
    file.truncate_after(5)
    assert [r["step"] for r in read_rows(path)] == [1, 2, 3, 4, 5]
    file.row({"step": 6, "loss": 9.0})
    file.close()
    assert [r["step"] for r in read_rows(path)] == [1, 2, 3, 4, 5, 6]
    assert read_rows(path)[-1]["loss"] == 9.0
    assert [p.name for p in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_truncating_before_anything_was_written(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.truncate_after(0)
    assert read_rows(file.path) == []


def test_a_folder_that_refuses_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*out="):
        written(tmp_path / "absent" / "metrics.jsonl", {"step": 1})
