"""Real captures and files for tests, where they are at hand. The project itself never needs them."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SCENELOOM_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared(relative: str) -> Path:
    """The path of a shared test file, or a skip that says what is absent."""
    path = ROOT / relative
    if not path.exists():
        pytest.skip(f"shared test data not found: {relative} (set SCENELOOM_SHARED)")
    return path
