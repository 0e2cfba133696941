"""Are the poses poses? Rotation checked and mended, mirrored and non-finite ones told apart."""

from __future__ import annotations

import numpy as np

TOLERANCE = 1e-3
MOST_SHEAR = 0.05


def rigid(world_to_camera: np.ndarray) -> tuple[np.ndarray | None, str]:
    """[4, 4] -> (the rigid world-to-camera, what was done), the first None where no camera can have this pose.

    What was done is '' (nothing), 'scaled' (a uniform scale taken out, the centre kept), 'straightened' (nearest
    rotation) or the
    reason of refusal: 'not finite', 'mirrored', 'sheared'.
    """
    m = np.asarray(world_to_camera, np.float64)
    if not np.isfinite(m).all():
        return None, "not finite"
    A = m[:3, :3]
    U, s, Vt = np.linalg.svd(A)
    if s[2] <= 1e-12 * s[0] or s[0] == 0.0:
        return None, "not finite"
    R = U @ Vt
    if np.linalg.det(R) < 0:
        return None, "mirrored"
    center = -np.linalg.solve(A, m[:3, 3])
    if s[0] / s[2] - 1.0 > MOST_SHEAR:
        return None, "sheared"
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = R, -R @ center
    if s[0] / s[2] - 1.0 > TOLERANCE:
        return out, "straightened"
    return out, "scaled" if abs(s.mean() - 1.0) > TOLERANCE else ""


def moved(world_to_camera: np.ndarray, scale: float, origin: np.ndarray) -> np.ndarray:
    """The rigid pose in the world of x_input = scale * x_world + origin: the camera sees the same picture."""
    out = world_to_camera.copy()
    R = world_to_camera[:3, :3]
    center = -R.T @ world_to_camera[:3, 3]
    out[:3, 3] = -R @ ((center - origin) / scale)
    return out
