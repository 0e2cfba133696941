"""Fused loss against plain torch in float64; metrics against torchmetrics."""

from __future__ import annotations

import math

import pytest
import torch
from sceneloom.renderers.images.metrics import psnr, ssim
from sceneloom.renderers.images.photometric import photometric_loss, photometric_loss_torch
from sceneloom.renderers.kernels import pool


def pictures(height: int, width: int, channels: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    target = torch.rand(height, width, channels, generator=g)
    return (target * 0.7 + 0.3 * torch.rand(height, width, channels, generator=g)).requires_grad_(), target


@pytest.mark.parametrize("size", [(40, 50, 3), (5, 7, 3), (1, 1, 1), (33, 64, 4), (100, 3, 2)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("integers", [False, True])
def test_loss_and_gradient_equal_plain_torch(size: tuple[int, int, int], masked: bool, integers: bool) -> None:
    pred, target = pictures(*size)
    mask = torch.rand(size[:2], generator=torch.Generator().manual_seed(1)) > 0.4 if masked else None
    if masked:
        mask[0, 0] = True
    given = (target * 255).round().to(torch.uint8) if integers else target
    loss = photometric_loss(pred, given, 0.3, mask)
    (3 * loss).backward()
    exact = pred.detach().double().requires_grad_()
    wanted = photometric_loss_torch(exact, given.double() / 255 if integers else given.double(), 0.3, mask)
    (3 * wanted).backward()
    assert abs(loss.item() - wanted.item()) < 1e-6
    assert (pred.grad - exact.grad).abs().max() < 2e-6 * exact.grad.abs().max() + 1e-12
    if masked:
        assert not pred.grad[~mask].any()


def test_the_training_loss_of_3dgs() -> None:
    """L1 and zero-padded SSIM as in the INRIA code, written out once more with a full 2D window."""
    pred, target = pictures(30, 40)
    taps = torch.tensor([math.exp(-((k - 5) ** 2) / 4.5) for k in range(11)])
    window = torch.outer(taps, taps)[None, None].expand(3, 1, 11, 11) / taps.sum() ** 2
    x, y = pred.detach().permute(2, 0, 1), target.permute(2, 0, 1)

    def blur(a: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.conv2d(a, window, padding=5, groups=3)

    mx, my = blur(x), blur(y)
    top = (2 * mx * my + 1e-4) * (2 * (blur(x * y) - mx * my) + 9e-4)
    bottom = (mx**2 + my**2 + 1e-4) * (blur(x * x) - mx**2 + blur(y * y) - my**2 + 9e-4)
    wanted = 0.8 * (x - y).abs().mean() + 0.2 * (1 - (top / bottom).mean())
    assert abs(photometric_loss(pred, target).item() - wanted.item()) < 1e-6


def test_what_the_mask_hides_does_not_matter() -> None:
    pred, target = pictures(20, 20)
    mask = torch.zeros(20, 20, dtype=torch.bool)
    mask[5:15, 3:12] = True
    spoiled = torch.where(mask[..., None], pred, torch.full_like(pred, 9.0)).detach().requires_grad_()
    assert photometric_loss(pred, target, mask=mask).item() == photometric_loss(spoiled, target, mask=mask).item()
    nothing = photometric_loss(pred, target, mask=torch.zeros(20, 20, dtype=torch.bool))
    nothing.backward()
    assert nothing.item() == 0
    assert not pred.grad.any()


def test_bit_equal_for_any_number_of_threads() -> None:
    pred, target = pictures(70, 45)
    before, results = pool.threads(), []
    for n in (1, 2, 3, 8):
        pool.set_threads(n)
        pred.grad = None
        loss = photometric_loss(pred, target)
        loss.backward()
        results.append((loss.item(), pred.grad.numpy().tobytes()))
    pool.set_threads(before)
    assert len(set(results)) == 1


def test_wrong_shapes_are_named() -> None:
    pred, target = pictures(8, 9)
    with pytest.raises(ValueError, match="wanted both"):
        photometric_loss(pred, target[:4])
    with pytest.raises(ValueError, match="mask has shape"):
        photometric_loss(pred, target, mask=torch.ones(3, 3, dtype=torch.bool))


@pytest.mark.parametrize("size", [(11, 12), (50, 61), (6, 40)])
def test_metrics_equal_torchmetrics(size: tuple[int, int]) -> None:
    image = pytest.importorskip("torchmetrics.functional.image")
    a, b = pictures(*size)
    one, two = a.detach().permute(2, 0, 1)[None], b.permute(2, 0, 1)[None]
    assert ssim(a, b) == pytest.approx(
        image.structural_similarity_index_measure(one, two, data_range=1.0).item(), abs=1e-5
    )
    assert psnr(a, b) == pytest.approx(image.peak_signal_noise_ratio(one, two, data_range=1.0).item(), abs=1e-4)


def test_metrics_by_hand() -> None:
    a, b = torch.full((8, 8, 3), 0.5), torch.full((8, 8, 3), 0.6)
    assert psnr(a, b) == pytest.approx(20.0, abs=1e-5)
    assert psnr(a, a) == math.inf
    assert ssim(a, a) == 1.0
    half = torch.zeros(8, 8, dtype=torch.bool)
    half[:, :4] = True
    c = torch.where(half[..., None], a, b)
    assert psnr(c, b, half) == pytest.approx(20.0, abs=1e-5)
    assert psnr(c, b, ~half) == math.inf
    assert ssim(c, b, ~half) == 1.0  # what the mask hides disturbs no window
    assert ssim(c, b) < ssim(c, b, ~half)
    assert math.isnan(psnr(a, b, torch.zeros(8, 8, dtype=torch.bool)))
    assert psnr((a * 255).to(torch.uint8), (b * 255).to(torch.uint8)) == pytest.approx(
        20 * math.log10(255 / 26), abs=1e-5
    )
    with pytest.raises(ValueError, match="at least 6"):
        ssim(a[:3], b[:3])
