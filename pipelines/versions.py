"""What is installed, without importing any of it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from .._version import __version__

NEEDED = (
    "torch",
    "numpy",
    "numba",
    "llvmlite",
    "scipy",
    "hydra-core",
    "rich",
    "pillow",
    "safetensors",
    "pycolmap",
    "wandb",
)
OPTIONAL = ("gsplat", "nerfacc", "viser", "av", "open3d", "pillow-heif")


def installed(package: str) -> str | None:
    """Its version, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Name -> version of sceneloom, Python and what a run depends on; for reports."""
    found = {"sceneloom": __version__, "python": platform.python_version(), "platform": platform.platform()}
    return found | {name: v for name in (*NEEDED, *OPTIONAL) if (v := installed(name))}
