from pathlib import Path

import pytest
from sceneloom.data.demo import demo_capture

SMALL = {"width": 96, "views": 12}


@pytest.fixture(scope="session")
def small_demo(tmp_path_factory) -> Path:
    """A small demo capture in a cache of its own, rendered once for all tests of this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCENELOOM_CACHE", str(tmp_path_factory.mktemp("cache")))
        return demo_capture(**SMALL)
