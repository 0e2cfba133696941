"""A slow, plain reference picture of splats in float64: every splat over the whole picture, front to back."""

import numpy as np
from sceneloom.data.gaussians import Gaussians
from sceneloom.data.scene import Camera


def basis(d: np.ndarray) -> np.ndarray:
    """Real spherical harmonics of degree 3 at unit directions [N, 3] -> [N, 16] (Kerbl et al. 2023, signs included)."""
    x, y, z = d.T
    xx, yy, zz = x * x, y * y, z * z
    return np.stack(
        [
            0.28209479177387814 * np.ones_like(x),
            -0.4886025119029199 * y,
            0.4886025119029199 * z,
            -0.4886025119029199 * x,
            1.0925484305920792 * x * y,
            -1.0925484305920792 * y * z,
            0.31539156525252005 * (2 * zz - xx - yy),
            -1.0925484305920792 * x * z,
            0.5462742152960396 * (xx - yy),
            -0.5900435899266435 * y * (3 * xx - yy),
            2.890611442640554 * x * y * z,
            -0.4570457994644658 * y * (4 * zz - xx - yy),
            0.3731763325901154 * z * (2 * zz - 3 * xx - 3 * yy),
            -0.4570457994644658 * x * (4 * zz - xx - yy),
            1.445305721320277 * z * (xx - yy),
            -0.5900435899266435 * x * (xx - 3 * yy),
        ],
        1,
    )


def rotations(quats: np.ndarray) -> np.ndarray:
    w, x, y, z = (quats / np.linalg.norm(quats, axis=1, keepdims=True)).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
        ],
        1,
    )


def picture(
    g: Gaussians, camera: Camera, background=(0.0, 0.0, 0.0), near: float = 0.01, antialiased: bool = False
) -> np.ndarray:
    """[H, W, 3] float64, not clamped."""
    W, t = camera.world_to_camera[:3, :3], camera.world_to_camera[:3, 3]
    p = g.means.astype(np.float64) @ W.T + t
    fx, fy, cx, cy = camera.K[0, 0], camera.K[1, 1], camera.K[0, 2], camera.K[1, 2]
    direction = g.means - camera.center
    direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    colour = np.maximum(0, 0.5 + np.einsum("nk,nkc->nc", basis(direction)[:, : g.sh.shape[1]], g.sh.astype(np.float64)))
    M = W @ rotations(g.quats.astype(np.float64)) * np.exp(g.log_scales.astype(np.float64))[:, None, :]
    alphas = 1 / (1 + np.exp(-g.logits.astype(np.float64)))
    ys, xs = np.mgrid[: camera.height, : camera.width] + 0.5
    rgb = np.zeros((camera.height, camera.width, 3))
    through = np.ones((camera.height, camera.width))
    for i in np.argsort(p[:, 2], kind="stable"):
        x, y, z = p[i]
        if z < near:
            continue
        wide, high = 0.15 * camera.width / fx, 0.15 * camera.height / fy
        u = np.clip(x / z, -cx / fx - wide, (camera.width - cx) / fx + wide)
        v = np.clip(y / z, -cy / fy - high, (camera.height - cy) / fy + high)
        J = np.array([[fx / z, 0, -fx * u / z], [0, fy / z, -fy * v / z]])
        sharp = J @ M[i] @ M[i].T @ J.T
        blurred = sharp + 0.3 * np.eye(2)
        opacity = alphas[i]
        if antialiased:
            opacity *= np.sqrt(max(0, np.linalg.det(sharp) / np.linalg.det(blurred)))
        conic = np.linalg.inv(blurred)
        dx, dy = xs - (fx * x / z + cx), ys - (fy * y / z + cy)
        power = 0.5 * (conic[0, 0] * dx * dx + conic[1, 1] * dy * dy) + conic[0, 1] * dx * dy
        alpha = np.minimum(0.999, opacity * np.exp(-power))
        alpha[alpha < 1 / 255] = 0
        rgb += (through * alpha)[..., None] * colour[i]
        through *= 1 - alpha
    return rgb + through[..., None] * np.asarray(background)


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    return float(-10 * np.log10(np.mean(np.square(np.clip(a, 0, 1) - np.clip(b, 0, 1)))))
