"""A small scene with cameras around it, for tests of the page."""

import numpy as np
from sceneloom.data.gaussians import Gaussians
from sceneloom.data.scene import Camera
from sceneloom.viewer.page import PageCamera, thumbnail


def cloud(n: int = 800, degree: int = 3, seed: int = 0) -> Gaussians:
    """Splats of all shapes in a ball: needles, specks, some nearly opaque, colours that turn with the view."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0, 0.6, (n, 3))
    sh = rng.normal(0, 0.12, (n, (degree + 1) ** 2, 3))
    sh[:, 0] = rng.normal(0, 1.0, (n, 3)) + means
    return Gaussians(
        means=means.astype(np.float32),
        quats=rng.normal(0, 1, (n, 4)).astype(np.float32),
        log_scales=rng.uniform(-5.5, -1.8, (n, 3)).astype(np.float32),
        logits=rng.normal(0, 2.5, n).astype(np.float32),
        sh=sh.astype(np.float32),
    )


def camera_at(eye, target=(0, 0, 0), width=160, height=120, focal=140.0, roll=0.0, cx=None, cy=None) -> Camera:
    eye, target = np.asarray(eye, float), np.asarray(target, float)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, (np.sin(roll), -np.cos(roll), 0))
    right /= np.linalg.norm(right)
    m = np.eye(4)
    m[:3, :3] = right, np.cross(forward, right), forward
    m[:3, 3] = -m[:3, :3] @ eye
    K = np.array(
        [[focal, 0, width / 2 if cx is None else cx], [0, focal * 1.05, height / 2 if cy is None else cy], [0, 0, 1]]
    )
    return Camera(K, width, height, m)


def ring(n: int = 5, photos: bool = True) -> list[PageCamera]:
    cameras = []
    for i in range(n):
        a = 2 * np.pi * i / n
        camera = camera_at((3 * np.sin(a), -0.7, -3 * np.cos(a)), roll=0.05 * i)
        photo = thumbnail(np.full((60, 80, 3), 20 * i, np.uint8)) if photos else None
        cameras.append(PageCamera(f"photos/{i:02d}.jpg", camera, photo, held_out=i == 0))
    return cameras
