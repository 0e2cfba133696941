"""What may be passed to the splat functions."""

from __future__ import annotations

import torch


def refuse(what: str, given: bool) -> None:
    """Say plainly what the CPU back end does not do."""
    if given:
        raise NotImplementedError(f"{what} is not supported by the CPU back end")


def expect(name: str, tensor: torch.Tensor, shape: tuple[int, ...]) -> None:
    """Shape and device, or a ValueError that names both."""
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} has shape {list(tensor.shape)}, wanted {list(shape)}")
    if tensor.device.type != "cpu":
        raise ValueError(f"{name} is on {tensor.device}, wanted cpu (backend)")
    if not tensor.is_floating_point():
        raise ValueError(f"{name} is {tensor.dtype}, wanted float32")
