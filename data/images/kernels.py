"""Two inner loops over pixels, compiled: exact area averaging, and bilinear sampling through a coarse map.

Both free the interpreter, so that decoding threads run side by side. Fixed order of arithmetic: same input, same bits.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def area_average(image: np.ndarray, out: np.ndarray) -> None:
    """image [H, W, C] uint8 -> out [h, w, C] uint8, h <= H, w <= W: the mean over each output pixel's exact footprint."""
    H, W, C = image.shape
    h, w, _ = out.shape
    sy, sx = H / h, W / w
    row = np.empty((W, C), np.float32)
    for y in range(h):
        top, bottom = y * sy, (y + 1) * sy
        row[:] = 0.0
        for yy in range(int(top), min(H, int(np.ceil(bottom - 1e-9)))):
            weight = np.float32(min(bottom, yy + 1.0) - max(top, float(yy)))
            for x in range(W):
                for c in range(C):
                    row[x, c] += weight * image[yy, x, c]
        for x in range(w):
            left, right = x * sx, (x + 1) * sx
            for c in range(C):
                total = 0.0
                for xx in range(int(left), min(W, int(np.ceil(right - 1e-9)))):
                    total += (min(right, xx + 1.0) - max(left, float(xx))) * row[xx, c]
                out[y, x, c] = np.uint8(min(255.0, total / (sx * sy) + 0.5))


@numba.njit(cache=True, nogil=True)
def _source(grid: np.ndarray, step: int, x: int, y: int) -> tuple[float, float]:
    """The map at the centre of output pixel (x, y), bilinear between its nodes at multiples of `step`."""
    gx, gy = (x + 0.5) / step, (y + 0.5) / step
    i, j = int(gx), int(gy)
    a, b = gx - i, gy - j
    n00, n01, n10, n11 = grid[j, i], grid[j, i + 1], grid[j + 1, i], grid[j + 1, i + 1]
    px = (1 - b) * ((1 - a) * n00[0] + a * n01[0]) + b * ((1 - a) * n10[0] + a * n11[0])
    py = (1 - b) * ((1 - a) * n00[1] + a * n01[1]) + b * ((1 - a) * n10[1] + a * n11[1])
    return px, py


@numba.njit(cache=True, nogil=True)
def sample_bilinear(image: np.ndarray, grid: np.ndarray, step: int, out: np.ndarray) -> None:
    """image [H, W, C] uint8 sampled at the map -> out [h, w, C] uint8; positions outside take the nearest edge."""
    H, W, C = image.shape
    h, w, _ = out.shape
    for y in range(h):
        for x in range(w):
            px, py = _source(grid, step, x, y)
            px = min(max(px - 0.5, 0.0), W - 1.0) if px == px else 0.0
            py = min(max(py - 0.5, 0.0), H - 1.0) if py == py else 0.0
            i, j = min(int(px), max(W - 2, 0)), min(int(py), max(H - 2, 0))
            a, b = px - i, py - j
            i1, j1 = min(i + 1, W - 1), min(j + 1, H - 1)
            for c in range(C):
                upper = (1 - a) * image[j, i, c] + a * image[j, i1, c]
                lower = (1 - a) * image[j1, i, c] + a * image[j1, i1, c]
                out[y, x, c] = np.uint8((1 - b) * upper + b * lower + 0.5)


@numba.njit(cache=True, nogil=True)
def sample_nearest(mask: np.ndarray, grid: np.ndarray, step: int, out: np.ndarray) -> None:
    """mask [H, W] bool sampled at the map -> out [h, w] bool; False wherever the map leaves the image or is not finite."""
    H, W = mask.shape
    h, w = out.shape
    for y in range(h):
        for x in range(w):
            px, py = _source(grid, step, x, y)
            inside = px >= 0.0 and py >= 0.0 and px <= W and py <= H  # NaN compares false
            out[y, x] = inside and mask[min(int(py), H - 1), min(int(px), W - 1)]
