"""Splats packed for the exported page: quantised, in blocks that can be drawn as they arrive.

Splats are ordered by importance (opacity times size), cut into blocks of 65,536, and within a block sorted along a
Morton curve, so that any prefix of blocks is a usable picture and neighbours in a chunk of 256 share a small box. A
block holds, little endian, byte planes (all low bytes, then all high bytes: deflate likes that) of n splats each:

  boxes      [ceil(n / 256), 6] float32   min xyz, max xyz of each chunk
  position   3 x u16   between the chunk's min and max
  rotation   3 x u16   smallest three of (w, x, y, z): 15 bits in +-1/sqrt(2); bit 15 of words 0, 1: the index left out
  log scale  3 x f16
  opacity    1 x u16   alpha in 1 / 65535
  f_dc       3 x f16
  f_rest     3 (K - 1) x u8, coefficient by coefficient, channel innermost: sign(v) sqrt(|v| / reach_band) in steps
             of 1 / 127

The square root gives small coefficients, which are most, fine steps even where one outlier stretches the band.
static/sort_worker.js and static/splat.glsl are the readers.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass

import numpy as np

from ..data.formats.quantised import rest_of_largest, sigmoid, unit_quaternions
from ..data.gaussians import Gaussians

BLOCK = 65536
CHUNK = 256
MAX_DEGREE = 3
BANDS = ((0, 3), (3, 8), (8, 15))


@dataclass(frozen=True)
class Payload:
    """`blocks`: base64 of deflate streams of `counts` splats each; `reach` [degree]: largest magnitude per SH band."""

    blocks: tuple[str, ...]
    counts: tuple[int, ...]
    degree: int
    reach: tuple[float, ...]


def pack(gaussians: Gaussians, level: int = 6) -> Payload:
    """Quantise finite splats of SH degree <= 3."""
    rest = gaussians.sh[:, 1:]
    bands = BANDS[: gaussians.degree]
    reach = tuple(float(np.abs(rest[:, a:b]).max(initial=1e-6)) for a, b in bands)
    order = importance_order(gaussians)
    blocks, counts = [], []
    for start in range(0, len(order), BLOCK):
        part = gaussians.select(order[start : start + BLOCK])
        part = part.select(morton_order(part.means))
        blocks.append(base64.b64encode(zlib.compress(_block(part, reach), level)).decode())
        counts.append(len(part))
    return Payload(tuple(blocks), tuple(counts), gaussians.degree, reach)


def importance_order(gaussians: Gaussians) -> np.ndarray:
    """Most visible first: opacity times the area of the two longest axes."""
    longest = np.sort(gaussians.log_scales, 1)[:, 1:].sum(1)
    return np.argsort(-(longest + np.log(sigmoid(gaussians.logits) + 1e-9)), kind="stable")


def morton_order(points: np.ndarray) -> np.ndarray:
    """Order of [N, 3] points along a Z-curve of 21 bits an axis."""
    low = points.min(0)
    span = max(float((points - low).max()), 1e-30)
    cells = ((points.astype(np.float64) - low) / span * (2**21 - 1)).astype(np.uint64)
    code = np.zeros(len(points), np.uint64)
    for axis in range(3):
        code |= _spread(cells[:, axis]) << np.uint64(axis)
    return np.argsort(code, kind="stable")


def _spread(x: np.ndarray) -> np.ndarray:
    """Insert two zero bits between the 21 low bits."""
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        x = (x | (x << np.uint64(shift))) & np.uint64(mask)
    return x


def _block(part: Gaussians, reach: tuple[float, ...]) -> bytes:
    boxes, positions = _positions(part.means)
    columns = (positions, _rotations(part.quats), _half(part.log_scales), _opacities(part.logits), _half(part.sh[:, 0]))
    words = np.ascontiguousarray(np.concatenate(columns, 1).T, "<u2")  # [13, n]
    planes = words.view(np.uint8).reshape(len(words), len(part), 2).transpose(0, 2, 1)
    return boxes.tobytes() + planes.tobytes() + _rest(part.sh[:, 1:], reach).tobytes()


def _positions(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts = np.arange(0, len(means), CHUNK)
    low, high = np.minimum.reduceat(means, starts), np.maximum.reduceat(means, starts)
    chunk = np.arange(len(means)) // CHUNK
    span = np.maximum((high - low).astype(np.float64), 1e-30)[chunk]
    return np.concatenate([low, high], 1).astype("<f4"), np.rint((means - low[chunk]) / span * 65535).clip(0, 65535)


def _rotations(quats: np.ndarray) -> np.ndarray:
    largest, rest = rest_of_largest(unit_quaternions(quats))
    words = np.rint((rest * 2**0.5 + 1) / 2 * 32767).clip(0, 32767).astype(np.uint16)
    words[:, 0] |= (largest.astype(np.uint16) & 1) << 15
    words[:, 1] |= (largest.astype(np.uint16) >> 1) << 15
    return words


def _half(values: np.ndarray) -> np.ndarray:
    return values.clip(-65504, 65504).astype("<f2").view("<u2")


def _opacities(logits: np.ndarray) -> np.ndarray:
    return np.rint(sigmoid(logits) * 65535)[:, None]


def _rest(rest: np.ndarray, reach: tuple[float, ...]) -> np.ndarray:
    """[n, K - 1, 3] -> [3 (K - 1), n] uint8."""
    scale = np.repeat(reach, [b - a for a, b in BANDS[: len(reach)]]).reshape(1, -1, 1)
    steps = np.rint(np.sqrt(np.abs(rest) / scale) * 127) * np.sign(rest) + 128 if len(reach) else rest
    return np.ascontiguousarray(steps.astype(np.uint8).reshape(len(rest), -1).T)
