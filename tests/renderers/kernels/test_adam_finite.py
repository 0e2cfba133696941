"""The Adam kernel tells when a parameter or its gradient is not finite, wherever it stands."""

import numpy as np
import pytest
from sceneloom.renderers.kernels.adam import adam_step


@pytest.mark.parametrize("n", [5, 16, 1003, 100_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_every_place_is_watched(n, bad):
    for place in {0, n // 2, n - 1}:
        p, g, m, v = (np.ones(n, np.float32) for _ in range(4))
        assert adam_step(p, g, m, v, [1e-3])
        g[place] = bad
        assert not adam_step(p, g, m, v, [1e-3])
        p, g, m, v = np.ones((4, n), np.float32)
        p[place] = bad
        assert not adam_step(p, g, m, v, [1e-3])
    p, m, v = np.ones((3, n), np.float32)
    assert adam_step(p, np.full(n, 3.4e38, np.float32), m, v, [1e-3])
