"""Array surgery on rows of Gaussians, apart from any policy: which old row each new row comes from, and what is new about it.

Everything that is kept per Gaussian (parameters, optimizer moments, statistics, ids) follows one `Surgery`, so nothing can get out
of step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

Params = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Surgery:
    """source [M] int64: the old row of each new row. fresh [M] bool: rows whose optimizer moments start at zero."""

    source: torch.Tensor
    fresh: torch.Tensor

    @staticmethod
    def keep(mask: torch.Tensor) -> Surgery:
        """Drop the rows where mask [N] is False."""
        source = mask.nonzero()[:, 0]
        return Surgery(source, torch.zeros(len(source), dtype=torch.bool, device=source.device))

    def rows(self, old: torch.Tensor) -> torch.Tensor:
        return old[self.source]

    def moments(self, old: torch.Tensor) -> torch.Tensor:
        """Rows of an optimizer moment: zero where fresh."""
        new = old[self.source]
        new[self.fresh] = 0
        return new


def append(count: int, born: torch.Tensor) -> Surgery:
    """All `count` rows stay and rows `born` [B] are added once more behind them, fresh."""
    stay = torch.arange(count, device=born.device)
    fresh = torch.zeros(count + len(born), dtype=torch.bool, device=born.device)
    fresh[count:] = True
    return Surgery(torch.cat([stay, born]), fresh)


def quat_to_matrix(quats: torch.Tensor) -> torch.Tensor:
    """[N, 4] (w, x, y, z), any length -> rotation matrices [N, 3, 3]."""
    w, x, y, z = torch.nn.functional.normalize(quats, dim=-1).unbind(-1)
    return torch.stack(
        [
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
        ],
        dim=-1,
    ).reshape(-1, 3, 3)  # fmt: skip


def split(params: Params, which: torch.Tensor, noise: torch.Tensor, shrink: float = 1.6) -> tuple[Surgery, Params]:
    """Replace rows `which` [S] by two smaller ones each, drawn from the Gaussian itself (3DGS, section 5.2).

    noise [2, S, 3] is standard normal. The first child takes the parent's row, the second is appended; both are fresh.
    """
    n = len(params["means"])
    surgery = append(n, which)
    surgery.fresh[which] = True
    new = {k: surgery.rows(v) for k, v in params.items()}
    spread = quat_to_matrix(params["quats"][which]) * params["log_scales"][which].exp()[:, None, :]
    offset = torch.einsum("sij,csj->csi", spread, noise)
    new["means"][which] += offset[0]
    new["means"][n:] += offset[1]
    for rows in (which, slice(n, None)):
        new["log_scales"][rows] -= torch.log(torch.tensor(shrink))
    return surgery, new


def duplicate(params: Params, which: torch.Tensor) -> tuple[Surgery, Params]:
    """Add a copy of rows `which` [S] behind the others; the copies are fresh."""
    surgery = append(len(params["means"]), which)
    return surgery, {k: surgery.rows(v) for k, v in params.items()}


def prune(params: Params, keep: torch.Tensor) -> tuple[Surgery, Params]:
    surgery = Surgery.keep(keep)
    return surgery, {k: surgery.rows(v) for k, v in params.items()}
