"""Spherical harmonics of degree 0 to 3 -> colour, and back.

Real basis in the order and with the signs of the 3D Gaussian Splatting code, evaluated by the recurrences of Sloan,
"Efficient Spherical Harmonic Evaluation" (JCGT 2013). The basis is computed for LANES Gaussians at once, the sums over
coefficients for one after another, since one Gaussian's coefficients are contiguous.
"""

from __future__ import annotations

import numpy as np

from ...kernels.groups import load_columns, store_columns
from ...kernels.jit import inlined, kernel
from ...kernels.simd import LANES, at, claim, load, put, store, vec
from ...kernels.vecmath import vsqrt

f32 = np.float32
ROWS = 1024  # Gaussians per block
MAX_DEGREE = 3
C0, C1 = 0.2820947917738781, 0.48860251190292
C2, C2Z, C2Z0, C2S = 1.092548430592079, 0.9461746957575601, 0.3153915652525201, 0.5462742152960395
C3, C3A, C3B, C3Z, C3Z1, C3X = (
    0.5900435899266435, 2.285228997322329, 0.4570457994644658, 1.865881662950577, 1.119528997770346, 1.445305721320277,
)  # fmt: skip


@inlined
def basis(degree, x, y, z, out):
    """out [16, LANES]: the basis functions up to `degree` in the unit direction (x, y, z)."""
    store(out, 0, vec(C0))
    if degree >= 1:
        store(out, LANES, y * -C1)
        store(out, 2 * LANES, z * C1)
        store(out, 3 * LANES, x * -C1)
    if degree >= 2:
        zz, c1, s1 = z * z, x * x - y * y, x * y * 2.0
        store(out, 4 * LANES, s1 * C2S)
        store(out, 5 * LANES, z * y * -C2)
        store(out, 6 * LANES, zz * C2Z - C2Z0)
        store(out, 7 * LANES, z * x * -C2)
        store(out, 8 * LANES, c1 * C2S)
        if degree >= 3:
            a, b = C3B - zz * C3A, z * C3X
            store(out, 9 * LANES, (x * s1 + y * c1) * -C3)
            store(out, 10 * LANES, b * s1)
            store(out, 11 * LANES, a * y)
            store(out, 12 * LANES, z * (zz * C3Z - C3Z1))
            store(out, 13 * LANES, a * x)
            store(out, 14 * LANES, b * c1)
            store(out, 15 * LANES, (x * c1 - y * s1) * -C3)


@inlined
def basis_gradient(degree, x, y, z, d):
    """Gradient with respect to the unit direction, given d [16, LANES] = dL/d(basis function)."""
    vx, vy, vz = vec(0.0), vec(0.0), vec(0.0)
    if degree >= 1:
        vx, vy, vz = load(d, 3 * LANES) * -C1, load(d, LANES) * -C1, load(d, 2 * LANES) * C1
    if degree >= 2:
        zz, c1, s1 = z * z, x * x - y * y, x * y * 2.0
        d4, d5, d6, d7, d8 = (
            load(d, 4 * LANES), load(d, 5 * LANES), load(d, 6 * LANES), load(d, 7 * LANES), load(d, 8 * LANES),
        )  # fmt: skip
        vx = vx + (y * d4 + x * d8 - z * d7) * C2
        vy = vy + (x * d4 - y * d8 - z * d5) * C2
        vz = vz + z * d6 * (2.0 * C2Z) - (x * d7 + y * d5) * C2
        if degree >= 3:
            a, b = C3B - zz * C3A, z * (2.0 * C3X)
            d9, d10, d11, d12 = load(d, 9 * LANES), load(d, 10 * LANES), load(d, 11 * LANES), load(d, 12 * LANES)
            d13, d14, d15 = load(d, 13 * LANES), load(d, 14 * LANES), load(d, 15 * LANES)
            vx = vx + (s1 * d9 + c1 * d15) * (-3.0 * C3) + b * (y * d10 + x * d14) + a * d13
            vy = vy + (c1 * d9 - s1 * d15) * (-3.0 * C3) + b * (x * d10 - y * d14) + a * d11
            vz = (
                vz
                + (zz * (3.0 * C3Z) - C3Z1) * d12
                - z * (x * d13 + y * d11) * (2.0 * C3A)
                + (c1 * d14 + s1 * d10) * C3X
            )
    return vx, vy, vz


@inlined
def direction(points, i, centre):
    """Unit vectors from `centre` to LANES points, and 1 / distance (0 for a point at the centre)."""
    x, y, z = load_columns(points, 3 * i, 3)
    x, y, z = x - centre[0], y - centre[1], z - centre[2]
    inverse = vec(1.0) / vsqrt(x * x + y * y + z * z + 1e-30)
    return x * inverse, y * inverse, z * inverse, inverse


@kernel
def harmonics_forward(counter, blocks, n, degree, bases, points, centre, coefficients, radii, bias, clamp, colours):
    """colours [n, 3] = bias + sum over the first (degree + 1)^2 of `bases` coefficients; 0 at least if `clamp`; 0
    where radii are."""
    used = (degree + 1) * (degree + 1)
    table = np.empty(16 * LANES, np.float32)
    zero = f32(0.0)
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        for i in range(block * ROWS, min(n, (block + 1) * ROWS), LANES):
            x, y, z, _ = direction(points, i, centre)
            basis(degree, x, y, z, table)
            for lane in range(LANES):
                row = i + lane
                if at(radii, 2 * row) <= 0 or at(radii, 2 * row + 1) <= 0:
                    put(colours, 3 * row, zero)
                    put(colours, 3 * row + 1, zero)
                    put(colours, 3 * row + 2, zero)
                    continue
                red, green, blue, c = bias, bias, bias, row * bases * 3
                for k in range(used):
                    weight = at(table, k * LANES + lane)
                    red += weight * at(coefficients, c + 3 * k)
                    green += weight * at(coefficients, c + 3 * k + 1)
                    blue += weight * at(coefficients, c + 3 * k + 2)
                if clamp:
                    red, green, blue = max(red, zero), max(green, zero), max(blue, zero)
                put(colours, 3 * row, red)
                put(colours, 3 * row + 1, green)
                put(colours, 3 * row + 2, blue)


@kernel
def harmonics_backward(
    counter, blocks, n, degree, bases, points, centre, coefficients, radii, clamp, colours, v_colours, add,
    v_coefficients, v_points,
):  # fmt: skip
    """Gradients of harmonics_forward; `add` as in project_backward, for v_coefficients only. v_points is zero where
    nothing flows."""
    used = (degree + 1) * (degree + 1)
    table, slopes = np.empty(16 * LANES, np.float32), np.zeros(16 * LANES, np.float32)
    zero = f32(0.0)
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        for i in range(block * ROWS, min(n, (block + 1) * ROWS), LANES):
            x, y, z, inverse = direction(points, i, centre)
            basis(degree, x, y, z, table)
            for lane in range(LANES):
                row = i + lane
                c = row * bases * 3
                red, green, blue = at(v_colours, 3 * row), at(v_colours, 3 * row + 1), at(v_colours, 3 * row + 2)
                if clamp:
                    red = red if at(colours, 3 * row) > zero else zero
                    green = green if at(colours, 3 * row + 1) > zero else zero
                    blue = blue if at(colours, 3 * row + 2) > zero else zero
                hidden = at(radii, 2 * row) <= 0 or at(radii, 2 * row + 1) <= 0
                if hidden or (
                    red == zero and green == zero and blue == zero
                ):  # also: never touch coefficients that may be NaN
                    if not add:
                        for k in range(3 * bases):
                            put(v_coefficients, c + k, zero)
                    for k in range(used):
                        put(slopes, k * LANES + lane, zero)
                    continue
                for k in range(used):
                    weight = at(table, k * LANES + lane)
                    p = c + 3 * k
                    put(
                        slopes,
                        k * LANES + lane,
                        at(coefficients, p) * red + at(coefficients, p + 1) * green + at(coefficients, p + 2) * blue,
                    )
                    if add:
                        put(v_coefficients, p, at(v_coefficients, p) + weight * red)
                        put(v_coefficients, p + 1, at(v_coefficients, p + 1) + weight * green)
                        put(v_coefficients, p + 2, at(v_coefficients, p + 2) + weight * blue)
                    else:
                        put(v_coefficients, p, weight * red)
                        put(v_coefficients, p + 1, weight * green)
                        put(v_coefficients, p + 2, weight * blue)
                if not add:
                    for k in range(3 * used, 3 * bases):
                        put(v_coefficients, c + k, zero)
            vx, vy, vz = basis_gradient(degree, x, y, z, slopes)
            along = vx * x + vy * y + vz * z
            store_columns(
                v_points, 3 * i, ((vx - along * x) * inverse, (vy - along * y) * inverse, (vz - along * z) * inverse)
            )
