"""LPIPS (Zhang et al., "The Unreasonable Effectiveness of Deep Features as a Perceptual Metric", CVPR 2018), from weights given as files.

No weights are shipped or downloaded. Wanted: the state dict of torchvision's AlexNet or VGG-16 (keys 'features.<i>.weight') and the
five linear heads of the authors ('lin0.model.1.weight' ... 'lin4.model.1.weight'), in one file or two (.pth or .safetensors).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F

from ...data.errors import InputError

Lpips = Callable[[torch.Tensor, torch.Tensor], float]

# Input normalisation of the published metric, for pictures in [-1, 1].
SHIFT = torch.tensor([-0.030, -0.088, -0.188]).reshape(1, 3, 1, 1)
SCALE = torch.tensor([0.458, 0.448, 0.450]).reshape(1, 3, 1, 1)

# Backbones as (index in `features`, kind) up to the last tapped layer; taps follow the ReLU after the listed convolutions.
ALEX = [("conv", 0, 4, 2), ("tap",), ("pool", 3), ("conv", 3, 1, 2), ("tap",), ("pool", 3), ("conv", 6, 1, 1), ("tap",),
        ("conv", 8, 1, 1), ("tap",), ("conv", 10, 1, 1), ("tap",)]  # fmt: skip
VGG = [("conv", 0, 1, 1), ("conv", 2, 1, 1), ("tap",), ("pool", 2), ("conv", 5, 1, 1), ("conv", 7, 1, 1), ("tap",), ("pool", 2),
       ("conv", 10, 1, 1), ("conv", 12, 1, 1), ("conv", 14, 1, 1), ("tap",), ("pool", 2), ("conv", 17, 1, 1), ("conv", 19, 1, 1),
       ("conv", 21, 1, 1), ("tap",), ("pool", 2), ("conv", 24, 1, 1), ("conv", 26, 1, 1), ("conv", 28, 1, 1), ("tap",)]  # fmt: skip


def load_lpips(weights: str | Sequence[str] | None) -> tuple[Lpips | None, str]:
    """The metric, or None with the reason that reports print."""
    if not weights:
        return None, "no weights given: evaluate.lpips_weights=[backbone.pth,heads.pth]"
    state: dict[str, torch.Tensor] = {}
    for name in [weights] if isinstance(weights, str) else weights:
        state |= _read(Path(name))
    net = VGG if "features.28.weight" in state else ALEX
    needed = [f"features.{layer[1]}.weight" for layer in net if layer[0] == "conv"]
    needed += [f"lin{i}.model.1.weight" for i in range(5)]
    if missing := [k for k in needed if k not in state]:
        raise InputError(
            f"evaluate.lpips_weights={weights}: {missing[0]} is missing; want AlexNet or VGG-16 features and lin0..lin4"
        )
    return lambda a, b: distance(state, net, a, b), "alex" if net is ALEX else "vgg"


def distance(state: dict[str, torch.Tensor], net: list, a: torch.Tensor, b: torch.Tensor) -> float:
    """LPIPS of two pictures [H, W, 3] in 0..1: squared differences of unit-length features, weighted, averaged over the picture."""
    total = 0.0
    for i, (x, y) in enumerate(zip(_features(state, net, a), _features(state, net, b), strict=True)):
        difference = (_unit(x) - _unit(y)) ** 2
        total += float(F.conv2d(difference, state[f"lin{i}.model.1.weight"].float()).mean())
    return total


def _features(state: dict[str, torch.Tensor], net: list, picture: torch.Tensor) -> list[torch.Tensor]:
    x = (picture.permute(2, 0, 1)[None].float() * 2 - 1 - SHIFT) / SCALE
    taps = []
    for layer in net:
        if layer[0] == "conv":
            _, index, stride, padding = layer
            weight, bias = state[f"features.{index}.weight"].float(), state[f"features.{index}.bias"].float()
            x = F.relu(F.conv2d(x, weight, bias, stride=stride, padding=padding))
        elif layer[0] == "pool":
            x = F.max_pool2d(x, layer[1], 2)
        else:
            taps.append(x)
    return taps


def _unit(x: torch.Tensor) -> torch.Tensor:
    return x / (torch.linalg.vector_norm(x, dim=1, keepdim=True) + 1e-10)


def _read(path: Path) -> dict[str, torch.Tensor]:
    if not path.is_file():
        raise InputError(f"evaluate.lpips_weights: there is no file {path}")
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"evaluate.lpips_weights: {path} is not a state dict of tensors ({error})") from error
