"""A run folder's records: whole or not at all, and one line where they cannot be written."""

import json
import os

import pytest
from sceneloom.data.errors import InputError
from sceneloom.pipelines.run_folder import write_json


def test_numbers_that_are_not_finite_become_null(tmp_path):
    write_json(tmp_path / "a.json", {"x": [float("nan"), float("inf"), 1.5], "name": "Überblick"})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {
        "x": [None, None, 1.5],
        "name": "Überblick",
    }


def test_a_full_disk_is_one_line_and_leaves_the_old_file_alone(tmp_path, monkeypatch):
    write_json(tmp_path / "stages.json", {"train": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"stages\.json: No space left on device.*out="):
        write_json(tmp_path / "stages.json", {"train": 2})
    assert [p.name for p in tmp_path.iterdir()] == ["stages.json"]
    assert json.loads((tmp_path / "stages.json").read_text()) == {"train": 1}
