"""Gaussian splats at rest: plain numpy arrays, as files hold them. (The trainable model is renderers/splats/model.py.)"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

SH_C0 = 0.28209479177387814


@dataclass(frozen=True)
class Gaussians:
    """N splats with raw (pre-activation) parameters, float32, in OpenCV-like axes of whatever frame they belong to.

    means      [N, 3]
    quats      [N, 4]  (w, x, y, z), not necessarily normalised
    log_scales [N, 3]  natural log of the standard deviations
    logits     [N]     opacity before the sigmoid
    sh         [N, K, 3] spherical harmonics, K = (degree + 1)^2 in {1, 4, 9, 16}; colour = 0.5 + sum_k Y_k sh_k
    """

    means: np.ndarray
    quats: np.ndarray
    log_scales: np.ndarray
    logits: np.ndarray
    sh: np.ndarray

    def __len__(self) -> int:
        return len(self.means)

    @property
    def degree(self) -> int:
        return round(self.sh.shape[1] ** 0.5) - 1

    def select(self, index: np.ndarray) -> Gaussians:
        """Rows by boolean mask or integer index."""
        return Gaussians(*(getattr(self, f.name)[index] for f in fields(self)))

    def finite(self) -> np.ndarray:
        """[N] bool: every number of the row is finite."""
        arrays = [getattr(self, f.name) for f in fields(self)]
        return np.logical_and.reduce([np.isfinite(a).all(axis=tuple(range(1, a.ndim))) for a in arrays])

    def moved(self, scale: float, origin: np.ndarray) -> Gaussians:
        """x -> scale * x + origin (no rotation): means and log-scales follow, colours do not change."""
        means = (self.means.astype(np.float64) * scale + origin).astype(np.float32)
        return replace(self, means=means, log_scales=(self.log_scales + np.float32(np.log(scale))).astype(np.float32))
