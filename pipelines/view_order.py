"""Which view a step looks at: every training view once an epoch, in an order that depends on seed and epoch alone.

Stateless, so a resumed run sees the very same views.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..data import philox


@dataclass(frozen=True)
class ViewOrder:
    count: int
    seed: int

    def view(self, step: int) -> int:
        """Index of the training view of `step` (counted from 1)."""
        epoch, place = divmod(step - 1, self.count)
        return int(_order(self.seed, epoch, self.count)[place])

    def ahead(self, step: int, depth: int) -> list[int]:
        """The views of the next `depth` steps, for prefetching."""
        return [self.view(s) for s in range(step + 1, step + 1 + depth)]


@lru_cache(maxsize=4)
def _order(seed: int, epoch: int, count: int) -> np.ndarray:
    return philox.permutation(seed, "views", epoch, count)
