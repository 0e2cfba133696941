"""Every lens model against pycolmap's own projection, and back; new cameras of undistortion show only the photo."""

import numpy as np
import pytest
from sceneloom.data.errors import InputError
from sceneloom.data.images.undistort import STEP, rectify, sampling_grid, undistort, undistort_mask
from sceneloom.data.lenses import MODELS, Lens, fold_radius

LENSES = {
    "SIMPLE_PINHOLE": (500, 320, 240),
    "PINHOLE": (500, 510, 320, 240),
    "SIMPLE_RADIAL": (500, 310, 250, 0.1),
    "RADIAL": (500, 310, 250, -0.1, 0.02),
    "OPENCV": (500, 510, 310, 250, -0.1, 0.02, 0.001, -0.002),
    "FULL_OPENCV": (500, 510, 310, 250, -0.1, 0.02, 0.001, -0.002, 0.01, 0.05, 0.01, -0.001),
    "FOV": (500, 510, 310, 250, 0.8),
    "OPENCV_FISHEYE": (300, 310, 320, 240, 0.01, -0.002, 0.001, 0.0003),
    "SIMPLE_RADIAL_FISHEYE": (300, 320, 240, 0.02),
    "RADIAL_FISHEYE": (300, 320, 240, 0.02, -0.01),
    "THIN_PRISM_FISHEYE": (300, 310, 320, 240, 0.01, 0.002, 0.001, -0.002, 0.001, -0.001, 0.003, -0.002),
    "SIMPLE_FISHEYE": (300, 320, 240),
    "FISHEYE": (300, 310, 320, 240),
}


def lens(model: str) -> Lens:
    return Lens(model, tuple(float(p) for p in LENSES[model]), 640, 480)


def test_model_table_is_colmaps():
    pycolmap = pytest.importorskip("pycolmap")
    for name, known in pycolmap.CameraModelId.__members__.items():
        if name != "INVALID":
            assert MODELS[name].id == int(known.value), name
            camera = pycolmap.Camera.create_from_model_name(1, name, 100.0, 200, 100)
            assert len(camera.params) == len(MODELS[name].names), name


@pytest.mark.parametrize("model", LENSES)
def test_projection_agrees_with_pycolmap_and_inverts(model):
    pycolmap = pytest.importorskip("pycolmap")
    ours = lens(model)
    xy = np.random.default_rng(0).uniform(-0.6, 0.6, (200, 2))
    theirs = pycolmap.Camera(model=model, width=640, height=480, params=list(ours.params))
    expected = np.array([theirs.img_from_cam(np.array([x, y, 1.0])) for x, y in xy])
    pixels = ours.project(xy)
    np.testing.assert_allclose(pixels, expected, atol=1e-9)
    np.testing.assert_allclose(ours.unproject(pixels), xy, atol=1e-9)


@pytest.mark.parametrize("model", LENSES)
def test_every_pixel_of_the_new_camera_lies_on_the_photo(model):
    ours = lens(model)
    new = rectify(ours)
    assert new.full
    assert new.kept > 0.8
    x, y = np.meshgrid(np.arange(0, 641, 8.0), np.arange(0, 481, 8.0))
    rays = np.stack([(x - new.K[0, 2]) / new.K[0, 0], (y - new.K[1, 2]) / new.K[1, 1]], -1)
    pixels = ours.project(rays)
    slack = 0.01  # px: the outline is sampled; pixel centres lie half a pixel further in
    assert pixels.min() > -slack
    assert (pixels[..., 0] <= 640 + slack).all()
    assert (pixels[..., 1] <= 480 + slack).all()


@pytest.mark.parametrize(("model", "error"), [("OPENCV", 0.002), ("FOV", 0.005), ("RADIAL_FISHEYE", 0.02)])
def test_coarse_map_is_close_between_its_nodes(model, error):
    ours = lens(model)
    grid, K = sampling_grid(ours).astype(np.float64), rectify(ours).K
    j, i = np.meshgrid(np.arange(0, 479 // STEP), np.arange(0, 639 // STEP), indexing="ij")
    middle = (grid[j, i] + grid[j, i + 1] + grid[j + 1, i] + grid[j + 1, i + 1]) / 4
    x, y = (i + 0.5) * STEP, (j + 0.5) * STEP
    exact = ours.project(np.stack([(x - K[0, 2]) / K[0, 0], (y - K[1, 2]) / K[1, 1]], -1))
    assert np.abs(middle - exact).max() < error


def test_undistorted_picture_is_that_of_a_pinhole():
    """Paint a smooth function of the ray through the lens, undistort, compare with the same function through the new
    K.
    """

    def paint(rays):
        return (127.5 + 100 * np.sin(6 * rays[..., 0]) * np.cos(5 * rays[..., 1]))[..., None].repeat(3, -1)

    ours = lens("OPENCV")
    x, y = np.meshgrid(np.arange(640) + 0.5, np.arange(480) + 0.5)
    bent = paint(ours.unproject(np.stack([x, y], -1))).round().astype(np.uint8)
    K = rectify(ours).K
    expected = paint(np.stack([(x - K[0, 2]) / K[0, 0], (y - K[1, 2]) / K[1, 1]], -1))
    got = undistort(bent, ours)
    assert np.abs(got - expected)[2:-2, 2:-2].max() < 1.6
    assert np.abs(got - expected).mean() < 0.4


def test_opencv_agrees_on_the_largest_inscribed_rectangle():
    cv2 = pytest.importorskip("cv2")
    ours = Lens("OPENCV", (500.0, 510.0, 310.0, 250.0, -0.1, 0.02, 0.001, -0.002), 640, 480)
    distortion = np.array([-0.1, 0.02, 0.001, -0.002])
    theirs, _ = cv2.getOptimalNewCameraMatrix(ours.K, distortion, (640, 480), 0)
    assert np.abs(rectify(ours).K - theirs).max() < 5.0  # its outline is sampled at 9 points a side


def test_too_much_loss_keeps_k_and_gives_a_mask():
    ours = Lens("SIMPLE_RADIAL", (300.0, 320.0, 240.0, 12.0), 640, 480)
    new = rectify(ours)
    assert not new.full
    np.testing.assert_array_equal(new.K, ours.K)
    mask = undistort_mask(np.ones((480, 640), bool), ours)
    x, y = np.meshgrid(np.arange(640) + 0.5, np.arange(480) + 0.5)
    pixels = ours.project(np.stack([(x - 320) / 300, (y - 240) / 300], -1))
    inside = ((pixels > 0) & (pixels < (640, 480))).all(-1)
    assert 0.1 < mask.mean() < 0.9
    assert (mask != inside).mean() < 1e-3


def test_folded_lens_is_masked_not_mirrored():
    ours = Lens("SIMPLE_RADIAL", (400.0, 320.0, 240.0, -1.0), 640, 480)  # r (1 - r^2) falls beyond r = 1 / sqrt(3)
    assert fold_radius(ours) == pytest.approx(1 / np.sqrt(3), abs=2e-3)
    mask = undistort_mask(np.ones((480, 640), bool), ours)
    assert not rectify(ours).full
    assert not mask[0, 0]
    assert mask[240, 320]


def test_models_beyond_us_are_refused_by_name():
    with pytest.raises(InputError, match="RAD_TAN_THIN_PRISM_FISHEYE"):
        rectify(Lens("RAD_TAN_THIN_PRISM_FISHEYE", (1.0,) * 16, 64, 48))
    with pytest.raises(InputError, match="takes 4 parameters, got 3"):
        Lens("PINHOLE", (1.0, 2.0, 3.0), 64, 48)


def test_scaled_lens_projects_scaled_pixels():
    ours = lens("SIMPLE_RADIAL")
    other = ours.scaled(320, 360)
    xy = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 2))
    np.testing.assert_allclose(other.project(xy), ours.project(xy) * (0.5, 0.75), atol=1e-9)
