"""A pinhole camera as the flat float32 array that kernels read."""

from __future__ import annotations

import numpy as np

# where things lie in the array
WORLD_TO_CAMERA, TRANSLATION, FOCAL, CENTRE, EPS2D, NEAR, FAR, CLIP, SIZE, SLOPES = 0, 9, 12, 14, 16, 17, 18, 19, 20, 22
CAMERA_FLOATS = 32
MARGIN = 0.3  # of tan(fov / 2): how far beyond the image border the Jacobian still follows a Gaussian


def camera_array(
    viewmat: np.ndarray,
    K: np.ndarray,
    width: int,
    height: int,
    eps2d: float,
    near_plane: float,
    far_plane: float,
    radius_clip: float,
) -> np.ndarray:
    """World-to-camera [4, 4] and intrinsics [3, 3] (pixels) with the knobs of the projection.

    SLOPES holds the largest and smallest x/z and y/z at which the projection is linearised: the image border plus
    MARGIN * tan(fov / 2).
    """
    camera = np.zeros(CAMERA_FLOATS, np.float32)
    fx, fy, cx, cy = float(K[0, 0]), float(K[1, 1]), float(K[0, 2]), float(K[1, 2])
    camera[0:9] = viewmat[:3, :3].reshape(-1)
    camera[9:12] = viewmat[:3, 3]
    camera[12:16] = fx, fy, cx, cy
    camera[16:22] = eps2d, near_plane, far_plane, radius_clip, width, height
    spread_x, spread_y = MARGIN * 0.5 * width / fx, MARGIN * 0.5 * height / fy
    camera[22:26] = (
        (width - cx) / fx + spread_x,
        -(cx / fx + spread_x),
        (height - cy) / fy + spread_y,
        -(cy / fy + spread_y),
    )
    return camera
