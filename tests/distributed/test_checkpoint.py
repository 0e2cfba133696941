"""Checkpoints come back bit for bit, and anything damaged is refused or passed over by name."""

import json
import os

import pytest
import torch
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


@pytest.mark.parametrize("harm", ["flip", "cut", "gone", "manifest", "no manifest"])
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
    with pytest.raises(OSError, match="No space"):
        checkpoint.save(tmp_path, 2, TENSORS, {})
    assert [p.name for p in tmp_path.iterdir()] == ["step_00000001"]
