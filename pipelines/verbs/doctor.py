"""`sceneloom doctor`: what is installed, what this computer can do, which back ends run and why not, where caches lie."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable

from omegaconf import DictConfig

from ..._version import __version__
from ...data.errors import InputError
from ...data.user_cache import KINDS, cache_root, clear, size
from ...renderers.kernels.pool import physical_cores
from ..machine import cpu, memory
from ..versions import NEEDED, OPTIONAL, installed

Rows = list[tuple[str, str]]


def run(cfg: DictConfig) -> None:
    """Print the tables; with clear=KIND empty a cache first. A part that fails says so and the others go on."""
    for line in emptied(cfg["clear"]):
        print(line)
    parts: list[tuple[str, Callable[[], Rows]]] = [
        ("versions", packages),
        ("computer", computer),
        ("back ends", backends),
        ("caches", caches),
    ]
    for title, rows in parts:
        try:
            found = rows()
        except Exception as error:
            found = [("not known", f"{type(error).__name__}: {error}")]
        print(table(title, found), flush=True)


def emptied(kind: str | None) -> list[str]:
    """Empty what `clear=` names; one line for each cache."""
    if kind is None:
        return []
    if kind != "all" and kind not in KINDS:
        raise InputError(f"clear={kind}: want one of {', '.join(KINDS)}, all")
    return [f"cleared {name}: {said(clear(name))}" for name in KINDS if kind in (name, "all")]


def packages() -> Rows:
    rows = [("sceneloom", __version__), ("python", f"{platform.python_version()} ({sys.executable})")]
    rows += [(name, installed(name) or "MISSING: pip install -e . again") for name in NEEDED]
    return rows + [(name, installed(name) or "not installed (optional)") for name in OPTIONAL]


def computer() -> Rows:
    name, sets = cpu()
    bytes_ = memory()
    return [
        ("system", platform.platform()),
        ("processor", f"{name}: {', '.join(sets) or 'no vector instructions that we know'}"),
        ("cores", f"{physical_cores()} physical ones usable (what threads=null takes), {os.cpu_count()} logical"),
        ("memory", said(bytes_) if bytes_ else "not told"),
    ]


def backends() -> Rows:
    from ...renderers.splats.backends import cuda_problem

    problem = cuda_problem()
    nvcc = shutil.which("nvcc")
    return [
        ("cpu", "usable: sceneloom's own kernels"),
        ("cuda", f"not usable: {problem}" if problem else "usable: gsplat"),
        ("nvcc", nvcc or "not found (gsplat compiles with it where it has no wheel)"),
        ("backend=auto", f"takes {'cpu' if problem else 'cuda'}"),
    ]


def caches() -> Rows:
    """Those of KINDS, whether or not there is one yet."""
    rows = [(name, f"{said(size(cache_root() / name)):>9}  {what}") for name, what in KINDS.items()]
    return [
        ("place", str(cache_root())),
        *rows,
        ("to empty", f"sceneloom doctor clear={'|'.join(KINDS)}|all; $SCENELOOM_CACHE moves them"),
    ]


def said(bytes_: int) -> str:
    for unit in ("B", "kB", "MB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}" if unit == "B" else f"{bytes_:.1f} {unit}"
        bytes_ /= 1000  # type: ignore[assignment]
    return f"{bytes_:.1f} GB"


def table(title: str, rows: Rows) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name:<{width}}  {text}" for name, text in rows), ""])
