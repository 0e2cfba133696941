"""Small pieces that quantised splat formats share."""

from __future__ import annotations

import numpy as np


def alpha_to_logit(alpha: np.ndarray, levels: int) -> np.ndarray:
    """Inverse sigmoid of opacities stored in steps of 1 / levels; the ends become finite (a quarter step inside)."""
    inside = np.clip(alpha.astype(np.float64), 0.25 / levels, 1 - 0.25 / levels)
    return (np.log(inside) - np.log1p(-inside)).astype(np.float32)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return (0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))).astype(np.float32)


def unit_quaternions(quats: np.ndarray) -> np.ndarray:
    """[N, 4] of length 1, float64; the zero quaternion becomes no rotation."""
    quats = quats.astype(np.float64)
    length = np.linalg.norm(quats, axis=1, keepdims=True)
    return np.where(length > 0, quats / np.maximum(length, 1e-300), (1.0, 0.0, 0.0, 0.0))


def largest_from_rest(largest: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """'Smallest three': index of the left-out component [N], the other three in order [N, 3] -> quaternions [N, 4]."""
    quats = np.empty((len(rest), 4), np.float32)
    rows = np.arange(len(rest))[:, None]
    others = np.arange(3)[None] + (np.arange(3)[None] >= largest[:, None])
    quats[rows, others] = rest
    quats[rows[:, 0], largest] = np.sqrt(np.maximum(0, 1 - np.square(rest.astype(np.float64)).sum(1)))
    return quats


def rest_of_largest(quats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse for unit quaternions: (largest [N], rest [N, 3] in +-1/sqrt(2)), signed so that largest >= 0."""
    largest = np.abs(quats).argmax(1)
    rows = np.arange(len(quats))[:, None]
    others = np.arange(3)[None] + (np.arange(3)[None] >= largest[:, None])
    sign = np.where(quats[rows[:, 0], largest] < 0, -1.0, 1.0)
    return largest, quats[rows, others] * sign[:, None]
