"""L1 + SSIM and their gradient, separable and several pixels at a time.

SSIM (Wang et al. 2004, windows of 11 taps, sigma 1.5) needs five blurred images of prediction x and target y. With s =
x + y and d = x - y four are enough, and those of d stay accurate when x is close to y:

    P = E[s]^2, Q = E[d]^2, V = E[s^2] - P, U = E[d^2] - Q
    SSIM = A1 A2 / (B1 B2),  A1 = (P - Q)/2 + c1,  B1 = (P + Q)/2 + c1,  A2 = (V - U)/2 + c2,  B2 = (V + U)/2 + c2

The gradient is three more blurs: of dSSIM/dE[s] + dSSIM/dE[d], of dSSIM/dV and of dSSIM/dU. Rows of an image [H, W, C]
are taken as W * C numbers; horizontal taps are C apart.
"""

from __future__ import annotations

import numpy as np

from ..kernels.groups import lane_sum
from ..kernels.jit import inlined, kernel
from ..kernels.simd import LANES, at, claim, load, muladd, put, select, store, vec
from ..kernels.vecmath import vabs

f32 = np.float32
TAPS, REACH = 11, 5
_offsets = np.arange(TAPS) - REACH
WEIGHTS = np.exp(-0.5 * (_offsets / 1.5) ** 2)
WEIGHTS = (WEIGHTS / WEIGHTS.sum()).astype(np.float32)
SSIM_C1, SSIM_C2 = f32(0.01**2), f32(0.03**2)
BAND = 16  # rows per block


@inlined
def padded(n):
    """Floats from one row of n numbers to the next: whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@inlined
def sign(x):
    """-1, 0 or 1."""
    return select(x > 0.0, vec(1.0), select(x < 0.0, vec(-1.0), vec(0.0)))


@inlined
def prepare(y, n, channels, prediction, target, scale, mask, masked, s, d, weight, o):
    """s, d and weight of image row y into rows at offset o. Where the mask is off the prediction counts as equal to
    the target."""
    base = y * n
    for k in range(n):
        t = f32(target[base + k]) * scale
        x = prediction[base + k]
        s[o + k] = x + t
        d[o + k] = x - t
        weight[o + k] = f32(1.0)
    if masked:
        for k in range(n):
            if not mask[y * (n // channels) + k // channels]:
                s[o + k] = f32(2.0) * (f32(target[base + k]) * scale)
                d[o + k] = f32(0.0)
                weight[o + k] = f32(0.0)


@inlined
def blur(row, first, step):
    """One vector of the horizontal blur of a padded row."""
    total = load(row, first) * WEIGHTS[0]
    for k in range(1, TAPS):
        total = muladd(load(row, first + k * step), WEIGHTS[k], total)
    return total


@kernel
def photometric_forward(counter, bands, height, width, channels, prediction, target, scale, mask, masked, maps, sums):
    """sums [bands, 2]: of |d| and of SSIM, where the mask is on. maps [3, height, padded(width * channels)]: what the
    gradient blurs (see above)."""
    n = width * channels
    stride, pad = padded(n), REACH * channels
    long = stride + 2 * pad + LANES
    s, d = np.zeros(TAPS * stride, np.float32), np.zeros(TAPS * stride, np.float32)
    weights = np.zeros(TAPS * stride, np.float32)
    e_s, e_d, e_ss, e_dd = (
        np.zeros(long, np.float32), np.zeros(long, np.float32), np.zeros(long, np.float32), np.zeros(long, np.float32),
    )  # fmt: skip
    half, plane = f32(0.5), height * stride
    while True:
        band = claim(counter)
        if band >= bands:
            return
        top, bottom = band * BAND, min(height, (band + 1) * BAND)
        total_l1, total_ssim = 0.0, 0.0
        for y in range(max(0, top - REACH), min(height, top + REACH)):
            o = (y % TAPS) * stride
            prepare(y, n, channels, prediction, target, scale, mask, masked, s, d, weights, o)
        for y in range(top, bottom):
            if y + REACH < height:
                o = ((y + REACH) % TAPS) * stride
                prepare(y + REACH, n, channels, prediction, target, scale, mask, masked, s, d, weights, o)
            first, last = max(0, y - REACH), min(height - 1, y + REACH)
            for x in range(0, n, LANES):
                a, b, aa, bb = vec(0.0), vec(0.0), vec(0.0), vec(0.0)
                for r in range(first, last + 1):
                    o = (r % TAPS) * stride + x
                    w = WEIGHTS[r - y + REACH]
                    u, v = load(s, o), load(d, o)
                    wu, wv = u * w, v * w
                    a, b, aa, bb = a + wu, b + wv, muladd(wu, u, aa), muladd(wv, v, bb)
                store(e_s, pad + x, a)
                store(e_d, pad + x, b)
                store(e_ss, pad + x, aa)
                store(e_dd, pad + x, bb)
            l1, ssim = vec(0.0), vec(0.0)
            for x in range(0, n, LANES):
                ms, md = blur(e_s, x, channels), blur(e_d, x, channels)
                p, q = ms * ms, md * md
                v, u = blur(e_ss, x, channels) - p, blur(e_dd, x, channels) - q
                a1, b1 = (p - q) * half + SSIM_C1, (p + q) * half + SSIM_C1
                a2, b2 = (v - u) * half + SSIM_C2, (v + u) * half + SSIM_C2
                o = (y % TAPS) * stride + x
                w, e = load(weights, o), load(d, o)
                inverse = vec(1.0) / (b1 * b2)
                value = a1 * a2 * inverse
                l1 = l1 + vabs(e)
                ssim = ssim + w * value
                # derivatives by a1, b1, a2, b2, then by p, q, v, u
                ga1, gb1, ga2, gb2 = a2 * inverse, -(value * b2 * inverse), a1 * inverse, -(value * b1 * inverse)
                gp, gq, gv, gu = (ga1 + gb1) * half, (gb1 - ga1) * half, (ga2 + gb2) * half, (gb2 - ga2) * half
                o = y * stride + x
                store(maps, o, w * (ms * (gp - gv) + md * (gq - gu)) * f32(2.0))
                store(maps, plane + o, w * gv)
                store(maps, 2 * plane + o, w * gu)
            total_l1 += np.float64(lane_sum(l1))
            total_ssim += np.float64(lane_sum(ssim))
        sums[band, 0], sums[band, 1] = total_l1, total_ssim


@kernel
def photometric_backward(
    counter,
    bands,
    height,
    width,
    channels,
    prediction,
    target,
    scale,
    mask,
    masked,
    maps,
    l1_factor,
    ssim_factor,
    gradient,
):
    """gradient [height, width, channels] = l1_factor * sign(d) + ssim_factor * d(sum of SSIM)/d(prediction), 0 where
    the mask is off."""
    n = width * channels
    stride, pad = padded(n), REACH * channels
    long = stride + 2 * pad + LANES
    s, d, weights, out = (
        np.zeros(stride, np.float32), np.zeros(stride, np.float32), np.zeros(stride, np.float32), np.zeros(stride,
        np.float32),
    )  # fmt: skip
    r0, r1, r2 = np.zeros(long, np.float32), np.zeros(long, np.float32), np.zeros(long, np.float32)
    plane, zero = height * stride, vec(0.0)
    while True:
        band = claim(counter)
        if band >= bands:
            return
        for y in range(band * BAND, min(height, (band + 1) * BAND)):
            first, last = max(0, y - REACH), min(height - 1, y + REACH)
            for x in range(0, n, LANES):
                a, b, c = zero, zero, zero
                for r in range(first, last + 1):
                    o, w = r * stride + x, WEIGHTS[r - y + REACH]
                    a = muladd(load(maps, o), w, a)
                    b = muladd(load(maps, plane + o), w, b)
                    c = muladd(load(maps, 2 * plane + o), w, c)
                store(r0, pad + x, a)
                store(r1, pad + x, b)
                store(r2, pad + x, c)
            prepare(y, n, channels, prediction, target, scale, mask, masked, s, d, weights, 0)
            for x in range(0, n, LANES):
                u, v = load(s, x), load(d, x)
                slope = blur(r0, x, channels) + (u * blur(r1, x, channels) + v * blur(r2, x, channels)) * f32(2.0)
                store(out, x, (sign(v) * l1_factor + slope * ssim_factor) * load(weights, x))
            for k in range(n):
                put(gradient, y * n + k, at(out, k))
