"""LPIPS on made-up weights: the formula, checked by hand where it is small enough."""

import pytest
import torch
from sceneloom.data.errors import InputError
from sceneloom.renderers.images.lpips import load_lpips

ALEX = {0: (64, 3, 11), 3: (192, 64, 5), 6: (384, 192, 3), 8: (256, 384, 3), 10: (256, 256, 3)}


def weights(path, seed=0):
    g = torch.Generator().manual_seed(seed)
    state = {}
    for i, (out, channels, size) in ALEX.items():
        state[f"features.{i}.weight"] = (
            torch.randn(out, channels, size, size, generator=g) / (channels * size * size) ** 0.5
        )
        state[f"features.{i}.bias"] = torch.zeros(out)
    heads = {
        f"lin{i}.model.1.weight": torch.rand(1, out, 1, 1, generator=g) for i, (out, *_) in enumerate(ALEX.values())
    }
    torch.save(state, path / "backbone.pth")
    torch.save(heads, path / "heads.pth")
    return [str(path / "backbone.pth"), str(path / "heads.pth")]


def test_distance_is_zero_at_home_symmetric_and_grows(tmp_path):
    lpips, reason = load_lpips(weights(tmp_path))
    assert lpips is not None
    assert reason == "alex"
    g = torch.Generator().manual_seed(1)
    a, noise = torch.rand(64, 80, 3, generator=g), torch.randn(64, 80, 3, generator=g)
    near, far = (a + 0.02 * noise).clamp(0, 1), (a + 0.3 * noise).clamp(0, 1)
    assert lpips(a, a) == 0
    assert lpips(a, far) == pytest.approx(lpips(far, a), rel=1e-6)
    assert 0 < lpips(a, near) < lpips(a, far)


def test_reasons_and_refusals(tmp_path):
    assert load_lpips(None)[0] is None
    assert "evaluate.lpips_weights" in load_lpips(None)[1]
    backbone, heads = weights(tmp_path)
    with pytest.raises(InputError, match="lin0"):
        load_lpips(backbone)
    with pytest.raises(InputError, match="no file"):
        load_lpips(str(tmp_path / "absent.pth"))
    with pytest.raises(InputError, match=r"features\.0\.weight"):
        load_lpips(heads)
