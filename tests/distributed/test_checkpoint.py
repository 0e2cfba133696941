"""Checkpoints come back bit for bit, and anything damaged is refused or passed over by name."""

import json
import os
import shutil

import pytest
import safetensors.torch
import torch
from safetensors import SafetensorError
from sceneloom.data.errors import InputError
from sceneloom.distributed import checkpoint

TENSORS = {"a": torch.arange(12.0).reshape(3, 4), "ids": torch.tensor([5, 7]), "none": torch.zeros(0, 3)}


def test_round_trip_is_exact_and_old_ones_go(tmp_path):
    for step in (10, 20, 30):
        checkpoint.save(tmp_path, step, TENSORS, {"seconds": 0.1 + 0.2, "step": step})
    assert [p.name for p in checkpoint.steps(tmp_path)] == ["step_00000020", "step_00000030"]
    found, warnings = checkpoint.latest(tmp_path)
    assert found is not None
    assert (found.step, found.meta["seconds"], warnings) == (30, 0.1 + 0.2, [])
    for name, tensor in TENSORS.items():
        assert torch.equal(found.tensors[name], tensor)
        assert found.tensors[name].dtype == tensor.dtype
    checkpoint.save(tmp_path, 30, TENSORS, {"again": True})
    found, _ = checkpoint.latest(tmp_path)
    assert found is not None
    assert found.meta == {"again": True}


@pytest.mark.parametrize("harm", ["flip", "cut", "gone", "manifest", "no manifest", "step", "meta", "files"])
def test_a_damaged_newest_is_passed_over(tmp_path, harm):
    for step in (1, 2):
        path = checkpoint.save(tmp_path, step, TENSORS, {})
    shard = path / "rank_00000.safetensors"
    data = bytearray(shard.read_bytes())
    if harm == "flip":
        data[-1] ^= 1
        shard.write_bytes(data)
    elif harm == "cut":
        shard.write_bytes(data[:-8])
    elif harm == "gone":
        shard.unlink()
    elif harm == "manifest":
        (path / "manifest.json").write_text("{")
    elif harm in ("step", "meta", "files"):
        manifest = json.loads((path / "manifest.json").read_text())
        del manifest[harm]
        (path / "manifest.json").write_text(json.dumps(manifest))
    else:
        (path / "manifest.json").unlink()
    found, warnings = checkpoint.latest(tmp_path)
    assert found is not None
    assert found.step == 1
    assert len(warnings) == (0 if harm == "no manifest" else 1)


def test_refusals_name_both_sides(tmp_path):
    path = checkpoint.save(tmp_path, 1, TENSORS, {})
    with pytest.raises(InputError, match="one shard"):
        checkpoint.load(path / "rank_00000.safetensors")
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(manifest | {"schema": 99}))
    with pytest.raises(InputError, match=r"schema 99.*schema 1"):
        checkpoint.load(path)
    assert checkpoint.latest(tmp_path / "nowhere") == (None, [])


def test_a_failed_write_leaves_the_one_before(tmp_path, monkeypatch):
    checkpoint.save(tmp_path, 1, TENSORS, {})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    for step in (1, 2):
        with pytest.raises(InputError, match=r"step_0000000\d: No space left on device; .*resume=true$"):
            checkpoint.save(tmp_path, step, TENSORS, {})
        assert [p.name for p in tmp_path.iterdir()] == ["step_00000001"]
    checkpoint.load(tmp_path / "step_00000001")


def test_a_disk_that_fills_up_under_the_tensors_is_told_in_one_line(tmp_path, monkeypatch):
    def full(*_):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(InputError, match="No space left"):
        checkpoint.save(tmp_path / "deep", 1, TENSORS, {})
    assert list((tmp_path / "deep").iterdir()) == []


@pytest.mark.parametrize("moment", ["set aside", "renamed", "deleting"])
def test_a_kill_while_a_step_is_written_again_leaves_a_whole_one(tmp_path, monkeypatch, moment):
    class Killed(BaseException):
        pass

    checkpoint.save(tmp_path, 1, TENSORS, {"again": False})
    real_replace, calls = os.replace, []

    def replace(source, target):
        calls.append(target)
        if len(calls) > {"set aside": 2, "renamed": 3, "deleting": 4}[moment]:
            raise Killed
        real_replace(source, target)

    def rmtree(*_, **__):
        if moment == "deleting" and len(calls) == 4:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        patch.setattr(shutil, "rmtree", rmtree)
        with pytest.raises(Killed):
            checkpoint.save(tmp_path, 1, TENSORS, {"again": True})
    found, warnings = checkpoint.latest(tmp_path)
    assert found is not None
    assert warnings == []
    assert (found.step, found.meta) == (1, {"again": moment != "set aside"})
    checkpoint.save(tmp_path, 1, TENSORS, {})
    assert [p.name for p in tmp_path.iterdir()] == ["step_00000001"]
