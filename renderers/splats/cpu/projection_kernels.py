"""Gaussians in space -> Gaussians on the image, and back: LANES Gaussians at a time.

    x = R m + t            camera coordinates of the mean          M = R(q) S, covariance M M^T
    J                      2x3 Jacobian of the pinhole at x, with x/z and y/z held within the slopes of camera.py
    P = J R M   [2, 3]     so that the 2D covariance is P P^T + eps2d I (EWA splatting, Zwicker et al. 2001)
    conic = (A, B, C)      its inverse [[A, B], [B, C]]

det(P P^T) is the squared length of the cross product of P's rows: no cancellation for needles, which a*c - b*b suffers
from.
"""

from __future__ import annotations

import numpy as np

from ...kernels.groups import lane_sum, load_columns, store_columns
from ...kernels.jit import inlined, kernel
from ...kernels.simd import LANES, any_of, at, claim, load, maximum, minimum, muladd, put, select, store, vec
from ...kernels.vecmath import log2, vceil, vsqrt

f32 = np.float32
ROWS = 1024  # Gaussians per block
ALPHA_MIN = f32(1.0 / 255.0)
CUT_OFF = f32(3.33)  # standard deviations: where opacity 1 falls below 1/255
HUGE = f32(1e9)  # pixels: larger radii are written as this


@inlined
def rotation(w, x, y, z):
    """Row-major rotation matrix of a unit quaternion."""
    one = vec(1.0)
    return (
        (one - (y * y + z * z) * 2.0, (x * y - w * z) * 2.0, (x * z + w * y) * 2.0),
        ((x * y + w * z) * 2.0, one - (x * x + z * z) * 2.0, (y * z - w * x) * 2.0),
        ((x * z - w * y) * 2.0, (y * z + w * x) * 2.0, one - (x * x + y * y) * 2.0),
    )


@inlined
def to_camera(cam, mx, my, mz):
    """Camera coordinates of world points."""
    return (
        muladd(mx, cam[0], muladd(my, cam[1], muladd(mz, cam[2], vec(cam[9])))),
        muladd(mx, cam[3], muladd(my, cam[4], muladd(mz, cam[5], vec(cam[10])))),
        muladd(mx, cam[6], muladd(my, cam[7], muladd(mz, cam[8], vec(cam[11])))),
    )


@inlined
def jacobian_rotation(cam, x, y, rz):
    """J R: d(pixel) / d(world), rows T0 and T1, with the clamped slopes that J was taken at and J's four non-zero
    entries."""
    tx = minimum(maximum(x * rz, cam[23]), cam[22])
    ty = minimum(maximum(y * rz, cam[25]), cam[24])
    j00, j02, j11, j12 = rz * cam[12], -(tx * rz * cam[12]), rz * cam[13], -(ty * rz * cam[13])
    return (
        (j00 * cam[0] + j02 * cam[6], j00 * cam[1] + j02 * cam[7], j00 * cam[2] + j02 * cam[8]),
        (j11 * cam[3] + j12 * cam[6], j11 * cam[4] + j12 * cam[7], j11 * cam[5] + j12 * cam[8]),
        (tx, ty),
        (j00, j02, j11, j12),
    )


@inlined
def inverse_norm(w, x, y, z):
    """1 / |q|, finite for the zero quaternion."""
    return vec(1.0) / vsqrt(muladd(w, w, muladd(x, x, muladd(y, y, muladd(z, z, vec(1e-30))))))


@inlined
def mix3(row, m):
    """Row vector times 3x3 matrix."""
    return (
        row[0] * m[0][0] + row[1] * m[1][0] + row[2] * m[2][0],
        row[0] * m[0][1] + row[1] * m[1][1] + row[2] * m[2][1],
        row[0] * m[0][2] + row[1] * m[1][2] + row[2] * m[2][2],
    )


@inlined
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross_square(a, b):
    """|a x b|^2."""
    u, v, w = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    return u * u + v * v + w * w


@kernel
def project_forward(
    counter,
    blocks,
    n,
    means,
    quats,
    scales,
    opacities,
    use_opacities,
    compensate,
    cam,
    means2d,
    depths,
    conics,
    compensations,
    radii,
):
    """Rows of means2d, depths, conics, compensations are zero and radii are 0 where a Gaussian is culled. n: a
    multiple of LANES.

    compensations: sqrt(det(cov) / det(cov + eps2d I)); it multiplies the opacity that decides the radius if
    `compensate`.
    """
    zero, one = vec(0.0), vec(1.0)
    fx, fy, cx, cy = cam[12], cam[13], cam[14], cam[15]
    eps, near, far, clip, width, height = cam[16], cam[17], cam[18], cam[19], cam[20], cam[21]
    radius = np.empty((2, LANES), np.float32)
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        for i in range(block * ROWS, min(n, (block + 1) * ROWS), LANES):
            mx, my, mz = load_columns(means, 3 * i, 3)
            x, y, z = to_camera(cam, mx, my, mz)
            seen = (z >= near) & (z <= far) & (z > 0.0)
            rz = one / select(seen, z, one)
            u, v = x * rz * fx + cx, y * rz * fy + cy
            qw, qx, qy, qz = load_columns(quats, 4 * i, 4)
            norm = inverse_norm(qw, qx, qy, qz)
            rot = rotation(qw * norm, qx * norm, qy * norm, qz * norm)
            s0, s1, s2 = load_columns(scales, 3 * i, 3)
            t0, t1, _, _ = jacobian_rotation(cam, x, y, rz)
            u0, u1 = mix3(t0, rot), mix3(t1, rot)
            p0, p1 = (u0[0] * s0, u0[1] * s1, u0[2] * s2), (u1[0] * s0, u1[1] * s1, u1[2] * s2)
            a, b, c = dot3(p0, p0), dot3(p0, p1), dot3(p1, p1)
            sharp = cross_square(p0, p1)
            det = sharp + (a + c) * eps + eps * eps
            a, c = a + eps, c + eps
            seen = seen & (det > 0.0) & (det < 1e38) & (a < 1e18) & (c < 1e18)
            det = select(seen, det, one)
            factor = vsqrt(sharp / det)
            inverse = one / det
            reach = vec(CUT_OFF)
            if use_opacities:
                opacity = load(opacities, i)
                if compensate:
                    opacity = opacity * factor
                seen = seen & (opacity >= ALPHA_MIN) & (opacity < 1e30)
                level = log2(select(seen, opacity, one)) - log2(vec(ALPHA_MIN))
                reach = minimum(vsqrt(maximum(level, zero) * f32(2.0 * 0.6931471805599453)), reach)
            rx = minimum(vceil(reach * vsqrt(a)), HUGE)
            ry = minimum(vceil(reach * vsqrt(c)), HUGE)
            seen = seen & ((rx > clip) | (ry > clip))
            seen = seen & (u + rx > 0.0) & (u - rx < width) & (v + ry > 0.0) & (v - ry < height)
            store_columns(means2d, 2 * i, (select(seen, u, zero), select(seen, v, zero)))
            store(depths, i, select(seen, z, zero))
            store_columns(
                conics,
                3 * i,
                (select(seen, c * inverse, zero), select(seen, -(b * inverse), zero), select(seen, a * inverse, zero)),
            )
            store(compensations, i, select(seen, factor, zero))
            store(radius, 0, select(seen, rx, zero))
            store(radius, LANES, select(seen, ry, zero))
            for lane in range(LANES):
                put(radii, 2 * (i + lane), np.int32(at(radius, lane)))
                put(radii, 2 * (i + lane) + 1, np.int32(at(radius, LANES + lane)))


@kernel
def project_backward(
    counter, blocks, n, means, quats, scales, cam, radii, conics, compensations,
    v_means2d, v_depths, v_conics, v_compensations, use_depths, use_compensations, add, pose, v_means, v_quats,
    v_scales, v_pose,
):  # fmt: skip
    """Gradients of project_forward. `add`: add to what v_means, v_quats, v_scales hold (further cameras), else
    overwrite.

    v_pose [blocks, 12]: each block's share of the gradient of R (9, row-major) and t (3), written if `pose`.
    """
    zero, one = vec(0.0), vec(1.0)
    fx, fy, eps = cam[12], cam[13], cam[16]
    visible = np.empty(LANES, np.float32)
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        w00, w01, w02, w10, w11, w12 = zero, zero, zero, zero, zero, zero
        w20, w21, w22, h0, h1, h2 = zero, zero, zero, zero, zero, zero
        for i in range(block * ROWS, min(n, (block + 1) * ROWS), LANES):
            for lane in range(LANES):
                put(visible, lane, f32(min(at(radii, 2 * (i + lane)), at(radii, 2 * (i + lane) + 1))))
            seen = load(visible, 0) > 0.0
            if not any_of(seen):
                if not add:
                    store_columns(v_means, 3 * i, (zero, zero, zero))
                    store_columns(v_quats, 4 * i, (zero, zero, zero, zero))
                    store_columns(v_scales, 3 * i, (zero, zero, zero))
                continue
            mx, my, mz = load_columns(means, 3 * i, 3)
            x, y, z = to_camera(cam, mx, my, mz)
            rz = one / select(seen, z, one)
            qw, qx, qy, qz = load_columns(quats, 4 * i, 4)
            norm = inverse_norm(qw, qx, qy, qz)
            qw, qx, qy, qz = qw * norm, qx * norm, qy * norm, qz * norm
            rot = rotation(qw, qx, qy, qz)
            s0, s1, s2 = load_columns(scales, 3 * i, 3)
            t0, t1, (tx, ty), (j00, j02, j11, j12) = jacobian_rotation(cam, x, y, rz)
            u0, u1 = mix3(t0, rot), mix3(t1, rot)
            p0, p1 = (u0[0] * s0, u0[1] * s1, u0[2] * s2), (u1[0] * s0, u1[1] * s1, u1[2] * s2)

            # conic = inverse(cov): dL/dcov = -conic G conic with G = [[gA, gB/2], [gB/2, gC]]
            A, B, C = load_columns(conics, 3 * i, 3)
            gA, gB, gC = load_columns(v_conics, 3 * i, 3)
            gB = gB * 0.5
            k00, k01, k10, k11 = A * gA + B * gB, A * gB + B * gC, B * gA + C * gB, B * gB + C * gC
            g00, g01, g11 = -(k00 * A + k01 * B), -(k00 * B + k01 * C), -(k10 * B + k11 * C)
            if use_compensations:
                # rho = sharp / det = factor^2;  d factor = drho / (2 factor);  det = det(cov) after the blur, 1 / det
                # = AC - B^2
                factor, v_factor = load(compensations, i), load(v_compensations, i)
                half = select(factor > 1e-6, v_factor * 0.5 / maximum(factor, vec(1e-6)), zero)
                rho = factor * factor
                inverse = A * C - B * B
                # dsharp/da = c - eps, /dc = a - eps, /db = -2b (b counted once: half of it on each off-diagonal
                # entry); a = C det, c = A det
                g00 = g00 + half * (A - eps * inverse - rho * A)
                g11 = g11 + half * (C - eps * inverse - rho * C)
                g01 = g01 + half * (B - rho * B)
            # cov = P P^T: dL/dP = 2 G P
            vp0 = (
                (g00 * p0[0] + g01 * p1[0]) * 2.0,
                (g00 * p0[1] + g01 * p1[1]) * 2.0,
                (g00 * p0[2] + g01 * p1[2]) * 2.0,
            )
            vp1 = (
                (g01 * p0[0] + g11 * p1[0]) * 2.0,
                (g01 * p0[1] + g11 * p1[1]) * 2.0,
                (g01 * p0[2] + g11 * p1[2]) * 2.0,
            )
            vs0, vs1, vs2 = (
                vp0[0] * u0[0] + vp1[0] * u1[0],
                vp0[1] * u0[1] + vp1[1] * u1[1],
                vp0[2] * u0[2] + vp1[2] * u1[2],
            )
            vu0, vu1 = (vp0[0] * s0, vp0[1] * s1, vp0[2] * s2), (vp1[0] * s0, vp1[1] * s1, vp1[2] * s2)
            # U = T R(q)
            vt0 = (dot3(vu0, rot[0]), dot3(vu0, rot[1]), dot3(vu0, rot[2]))
            vt1 = (dot3(vu1, rot[0]), dot3(vu1, rot[1]), dot3(vu1, rot[2]))
            r00, r01, r02 = (
                t0[0] * vu0[0] + t1[0] * vu1[0],
                t0[0] * vu0[1] + t1[0] * vu1[1],
                t0[0] * vu0[2] + t1[0] * vu1[2],
            )
            r10, r11, r12 = (
                t0[1] * vu0[0] + t1[1] * vu1[0],
                t0[1] * vu0[1] + t1[1] * vu1[1],
                t0[1] * vu0[2] + t1[1] * vu1[2],
            )
            r20, r21, r22 = (
                t0[2] * vu0[0] + t1[2] * vu1[0],
                t0[2] * vu0[1] + t1[2] * vu1[1],
                t0[2] * vu0[2] + t1[2] * vu1[2],
            )
            vqw = (qx * (r21 - r12) + qy * (r02 - r20) + qz * (r10 - r01)) * 2.0
            vqx = (qx * (r11 + r22) * -2.0 + qy * (r01 + r10) + qz * (r02 + r20) + qw * (r21 - r12)) * 2.0
            vqy = (qx * (r01 + r10) - qy * (r00 + r22) * 2.0 + qz * (r12 + r21) + qw * (r02 - r20)) * 2.0
            vqz = (qx * (r02 + r20) + qy * (r12 + r21) - qz * (r00 + r11) * 2.0 + qw * (r10 - r01)) * 2.0
            along = vqw * qw + vqx * qx + vqy * qy + vqz * qz
            # T = J R(camera); J depends on x/z (unless clamped), y/z and z
            vj00 = vt0[0] * cam[0] + vt0[1] * cam[1] + vt0[2] * cam[2]
            vj02 = vt0[0] * cam[6] + vt0[1] * cam[7] + vt0[2] * cam[8]
            vj11 = vt1[0] * cam[3] + vt1[1] * cam[4] + vt1[2] * cam[5]
            vj12 = vt1[0] * cam[6] + vt1[1] * cam[7] + vt1[2] * cam[8]
            gu, gv = load_columns(v_means2d, 2 * i, 2)
            slope_x, slope_y = x * rz, y * rz
            free_x = select((slope_x <= cam[22]) & (slope_x >= cam[23]), one, zero)
            free_y = select((slope_y <= cam[24]) & (slope_y >= cam[25]), one, zero)
            rz2 = rz * rz
            vx = rz * gu * fx - free_x * rz2 * vj02 * fx
            vy = rz * gv * fy - free_y * rz2 * vj12 * fy
            vz = (
                -((slope_x * gu * fx + slope_y * gv * fy) * rz)
                - (vj00 * fx + vj11 * fy) * rz2
                + ((one + free_x) * tx * vj02 * fx + (one + free_y) * ty * vj12 * fy) * rz2
            )
            if use_depths:
                vz = vz + load(v_depths, i)
            vx, vy, vz = select(seen, vx, zero), select(seen, vy, zero), select(seen, vz, zero)
            o0 = vx * cam[0] + vy * cam[3] + vz * cam[6]
            o1 = vx * cam[1] + vy * cam[4] + vz * cam[7]
            o2 = vx * cam[2] + vy * cam[5] + vz * cam[8]
            e0, e1 = select(seen, (vqw - along * qw) * norm, zero), select(seen, (vqx - along * qx) * norm, zero)
            e2, e3 = select(seen, (vqy - along * qy) * norm, zero), select(seen, (vqz - along * qz) * norm, zero)
            vs0, vs1, vs2 = select(seen, vs0, zero), select(seen, vs1, zero), select(seen, vs2, zero)
            if pose:
                mx, my, mz = select(seen, mx, zero), select(seen, my, zero), select(seen, mz, zero)
                h0, h1, h2 = h0 + vx, h1 + vy, h2 + vz
                w00 = w00 + select(seen, vx * mx + j00 * vt0[0], zero)
                w01 = w01 + select(seen, vx * my + j00 * vt0[1], zero)
                w02 = w02 + select(seen, vx * mz + j00 * vt0[2], zero)
                w10 = w10 + select(seen, vy * mx + j11 * vt1[0], zero)
                w11 = w11 + select(seen, vy * my + j11 * vt1[1], zero)
                w12 = w12 + select(seen, vy * mz + j11 * vt1[2], zero)
                w20 = w20 + select(seen, vz * mx + j02 * vt0[0] + j12 * vt1[0], zero)
                w21 = w21 + select(seen, vz * my + j02 * vt0[1] + j12 * vt1[1], zero)
                w22 = w22 + select(seen, vz * mz + j02 * vt0[2] + j12 * vt1[2], zero)
            if add:
                q0, q1, q2 = load_columns(v_means, 3 * i, 3)
                o0, o1, o2 = o0 + q0, o1 + q1, o2 + q2
                q0, q1, q2 = load_columns(v_scales, 3 * i, 3)
                vs0, vs1, vs2 = vs0 + q0, vs1 + q1, vs2 + q2
                c0, c1, c2, c3 = load_columns(v_quats, 4 * i, 4)
                e0, e1, e2, e3 = e0 + c0, e1 + c1, e2 + c2, e3 + c3
            store_columns(v_means, 3 * i, (o0, o1, o2))
            store_columns(v_quats, 4 * i, (e0, e1, e2, e3))
            store_columns(v_scales, 3 * i, (vs0, vs1, vs2))
        if pose:
            k = block * 12
            put(v_pose, k, lane_sum(w00))
            put(v_pose, k + 1, lane_sum(w01))
            put(v_pose, k + 2, lane_sum(w02))
            put(v_pose, k + 3, lane_sum(w10))
            put(v_pose, k + 4, lane_sum(w11))
            put(v_pose, k + 5, lane_sum(w12))
            put(v_pose, k + 6, lane_sum(w20))
            put(v_pose, k + 7, lane_sum(w21))
            put(v_pose, k + 8, lane_sum(w22))
            put(v_pose, k + 9, lane_sum(h0))
            put(v_pose, k + 10, lane_sum(h1))
            put(v_pose, k + 11, lane_sum(h2))
