"""Made-up splats for tests of files."""

import numpy as np
from sceneloom.data.gaussians import Gaussians


def random_splats(n: int, degree: int, seed: int = 0) -> Gaussians:
    rng = np.random.default_rng(seed)
    k = (degree + 1) ** 2
    return Gaussians(
        means=rng.normal(0, 2, (n, 3)).astype(np.float32),
        quats=rng.normal(0, 1, (n, 4)).astype(np.float32),
        log_scales=rng.uniform(-6, -1, (n, 3)).astype(np.float32),
        logits=rng.normal(0, 2, n).astype(np.float32),
        sh=rng.normal(0, 0.3, (n, k, 3)).astype(np.float32),
    )


def same(a: Gaussians, b: Gaussians) -> bool:
    return all(np.array_equal(getattr(a, f), getattr(b, f)) for f in ("means", "quats", "log_scales", "logits", "sh"))


def turn_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Degrees between the rotations of two lists of quaternions."""
    a, b = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in (a.astype(float), b.astype(float)))
    return np.degrees(2 * np.arccos(np.abs((a * b).sum(1)).clip(0, 1)))
