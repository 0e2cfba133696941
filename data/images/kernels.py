"""Two inner loops over pixels, compiled: exact area averaging, and bilinear sampling through a coarse map.

Both free the interpreter, so that decoding threads run side by side. Fixed order of arithmetic: same input, same bits.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def area_average(image: np.ndarray, out: np.ndarray) -> None:
    """image [H, W, C] uint8 -> out [h <= H, w <= W, C] uint8: the mean over each output pixel's exact footprint."""
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
def _map_of_row(grid: np.ndarray, step: int, y: int, xs: np.ndarray, ys: np.ndarray) -> None:
    """The map at the pixel centres of output row y, [w] each, bilinear between nodes at multiples of `step`."""
    w = xs.shape[0]
    half, size = np.float32(0.5), np.float32(step)
    g = (y + half) / size
    j = int(g)
    b = np.float32(g - j)
    for n in range(grid.shape[1] - 1):
        x0 = n * step
        left_x = grid[j, n, 0] + b * (grid[j + 1, n, 0] - grid[j, n, 0])
        left_y = grid[j, n, 1] + b * (grid[j + 1, n, 1] - grid[j, n, 1])
        slope_x = (grid[j, n + 1, 0] + b * (grid[j + 1, n + 1, 0] - grid[j, n + 1, 0]) - left_x) / size
        slope_y = (grid[j, n + 1, 1] + b * (grid[j + 1, n + 1, 1] - grid[j, n + 1, 1]) - left_y) / size
        for x in range(x0, min(x0 + step, w)):
            t = np.float32(x - x0) + half
            xs[x] = left_x + t * slope_x
            ys[x] = left_y + t * slope_y


@numba.njit(cache=True, nogil=True)
def sample_bilinear(image: np.ndarray, grid: np.ndarray, step: int, out: np.ndarray) -> None:
    """image [H, W, C] uint8 sampled at the map -> out [h, w, C] uint8; positions outside take the nearest edge.

    Flat unsigned indices: they spare the compiler the check for negative ones, a third of the time.
    """
    H, W, C = image.shape
    h, w, _ = out.shape
    xs, ys = np.empty(w, np.float32), np.empty(w, np.float32)
    zero, half, one = np.float32(0.0), np.float32(0.5), np.float32(1.0)
    right, bottom = np.float32(W - 1), np.float32(H - 1)
    source, target = image.reshape(-1), out.reshape(-1)
    for y in range(h):
        _map_of_row(grid, step, y, xs, ys)
        for x in range(w):
            px = min(max(xs[x] - half, zero), right) if xs[x] == xs[x] else zero
            py = min(max(ys[x] - half, zero), bottom) if ys[x] == ys[x] else zero
            i, j = np.int64(px), np.int64(py)
            a, b = px - np.float32(i), py - np.float32(j)
            k = np.uint64((j * W + i) * C)
            k_right = k + np.uint64(C if i < W - 1 else 0)
            down = np.uint64(W * C if j < H - 1 else 0)
            k_below, k_across = k + down, k_right + down
            w11 = a * b
            w10, w01, w00 = b - w11, a - w11, one - a - b + w11
            to = np.uint64((y * w + x) * C)
            for c in range(np.uint64(C)):
                value = w00 * np.float32(source[k + c]) + w01 * np.float32(source[k_right + c])
                value += w10 * np.float32(source[k_below + c]) + w11 * np.float32(source[k_across + c])
                target[to + c] = np.uint8(np.int32(value + half))


@numba.njit(cache=True, nogil=True)
def sample_nearest(mask: np.ndarray, grid: np.ndarray, step: int, out: np.ndarray) -> None:
    """mask [H, W] bool sampled at the map -> out [h, w] bool; False where the map leaves the image or is not finite."""
    H, W = mask.shape
    h, w = out.shape
    xs, ys = np.empty(w, np.float32), np.empty(w, np.float32)
    for y in range(h):
        _map_of_row(grid, step, y, xs, ys)
        for x in range(w):
            px, py = xs[x], ys[x]
            inside = px >= 0.0 and py >= 0.0 and px <= W and py <= H  # NaN compares false
            out[y, x] = inside and mask[min(int(py), H - 1), min(int(px), W - 1)]
