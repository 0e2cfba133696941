"""Between torch and NumPy without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .recycle import take


def array(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's memory as a contiguous float32 array (copied only if it is not that already)."""
    tensor = tensor.detach()
    if tensor.dtype != torch.float32 or not tensor.is_contiguous():
        tensor = tensor.to(torch.float32).contiguous()
    return tensor.numpy()


def recycled(
    shape: int | tuple[int, ...], dtype: Any = np.float32, zero: bool = False
) -> tuple[torch.Tensor, np.ndarray]:
    """A tensor and the same memory as an array, from the recycler: it returns there when the last tensor on it dies."""
    memory = take(shape, dtype)
    if zero:
        memory.fill(0)
    return torch.from_numpy(memory), memory
