"""Which library draws splats: our CPU kernels or gsplat's CUDA kernels, behind one signature (gsplat's `rasterization`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...data.errors import InputError


@dataclass(frozen=True)
class Backend:
    """`rasterization` is gsplat's signature; `reason` is the line that tells the user why this one was taken."""

    name: str
    device: torch.device
    rasterization: Callable[..., Any]
    reason: str


def cuda_problem() -> str | None:
    """Why the CUDA back end cannot be used here, or None if it can. Asking costs an import of gsplat at most."""
    if not torch.cuda.is_available():
        return "torch sees no CUDA device" if torch.version.cuda else "this torch is built without CUDA"
    try:
        import gsplat  # noqa: F401
    except Exception as error:
        return f"gsplat cannot be imported ({error}); pip install 'sceneloom[gpu]'"
    return _first_call_problem()


def _first_call_problem() -> str | None:
    """gsplat imports without its compiled part and fails at the first call: make that call on one Gaussian."""
    try:
        from gsplat import rasterization

        one = torch.ones(1, 3, device="cuda")
        rasterization(
            one, torch.ones(1, 4, device="cuda"), one, one[:, 0], one,
            torch.eye(4, device="cuda")[None], torch.eye(3, device="cuda")[None], 16, 16,
        )  # fmt: skip
    except Exception as error:
        return f"gsplat is installed but its CUDA kernels do not run ({type(error).__name__}: {str(error).splitlines()[0]})"
    return None


def choose(name: str = "auto") -> Backend:
    """'auto' takes CUDA where it works, else the CPU; a forced back end that cannot run is an error before any work."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"backend={name}: want auto, cpu or cuda")
    if name != "cpu":
        problem = cuda_problem()
        if problem is None:
            from gsplat import rasterization

            gpu = torch.cuda.get_device_name()
            return Backend("cuda", torch.device("cuda"), rasterization, f"gsplat on {gpu}")
        if name == "cuda":
            raise InputError(f"backend=cuda cannot run: {problem}; backend=cpu or backend=auto runs here")
        why = f"; cuda not used: {problem}"
    else:
        why = ""
    from .cpu import rasterization

    return Backend("cpu", torch.device("cpu"), rasterization, f"sceneloom CPU kernels{why}")
