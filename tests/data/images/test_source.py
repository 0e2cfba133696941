"""From file to camera-sized pixels: alpha, area averages, masks through the same map."""

import numpy as np
import pytest
from PIL import Image
from sceneloom.data.errors import InputError
from sceneloom.data.images.resize import nearest, scaled_size, shrink
from sceneloom.data.images.source import PhotoSource
from sceneloom.data.lenses import Lens


@pytest.mark.parametrize(
    ("size", "downscale", "expected"),
    [
        ((540, 960), 2, (270, 480)),
        ((5, 7), 2, (3, 4)),
        ((3, 1), 8, (1, 1)),
        ((1080, 1919), 4, (270, 480)),
        ((100, 50), 1.5, (67, 33)),
    ],
)
def test_sizes_are_rounded_to_nearest(size, downscale, expected):
    assert scaled_size(*size, downscale) == expected


def test_area_average_by_hand_and_against_a_dense_matrix():
    row = np.array([0, 100, 200], np.uint8).reshape(1, 3, 1)
    # 3 -> 2: the first output covers pixel 0 and half of pixel 1: (0 + 50) / 1.5 = 33.3
    assert shrink(row, 2, 1)[0, :, 0].tolist() == [33, 167]
    image = np.random.default_rng(0).integers(0, 256, (37, 53, 3), np.uint8)

    def weights(n, m):
        edges = np.arange(m + 1) * n / m
        cover = np.clip(
            np.minimum(edges[1:, None], np.arange(1, n + 1)) - np.maximum(edges[:-1, None], np.arange(n)), 0, None
        )
        return cover / (n / m)

    expected = np.einsum("yh,hwc,xw->yxc", weights(37, 10), image.astype(float), weights(53, 21))
    assert np.abs(shrink(image, 21, 10) - expected).max() <= 0.51


def test_transparent_colour_does_not_leak(tmp_path):
    """Half transparent red beside green under alpha 0: only what is visible counts, averaged premultiplied."""
    rgba = np.zeros((4, 4, 4), np.uint8)
    rgba[:, :2] = (0, 255, 0, 0)
    rgba[:, 2:] = (255, 0, 0, 255)
    rgba[:, 1] = (200, 0, 0, 128)
    Image.fromarray(rgba).save(tmp_path / "a.png")
    got = PhotoSource(tmp_path / "a.png", 2, 2).load()
    assert got.alpha is not None
    assert got.alpha[0].tolist() == [64, 255]
    assert got.rgb[0].tolist() == [[50, 0, 0], [255, 0, 0]]  # 200 * 128 / 255 / 2


def test_opaque_alpha_is_dropped(tmp_path):
    Image.new("RGBA", (4, 4), (1, 2, 3, 255)).save(tmp_path / "a.png")
    assert PhotoSource(tmp_path / "a.png", 4, 4).load().alpha is None


def test_mask_is_resized_with_the_image_and_undistorted_with_the_same_map(tmp_path):
    """Image and mask show the same disc; after undistortion and shrinking they still agree."""
    y, x = np.mgrid[:120, :160] + 0.5
    disc = ((x - 110) ** 2 + (y - 60) ** 2 < 30**2).astype(np.uint8) * 255
    Image.fromarray(disc).save(tmp_path / "a.png")
    Image.fromarray(disc).resize((320, 240), Image.Resampling.NEAREST).save(tmp_path / "m.png")
    lens = Lens("SIMPLE_RADIAL", (150.0, 80.0, 60.0, 0.3), 160, 120)
    got = PhotoSource(tmp_path / "a.png", 80, 60, lens=lens, mask=tmp_path / "m.png").load()
    assert got.mask is not None
    assert got.mask.shape == (60, 80)
    assert (got.mask != (got.rgb[..., 0] > 127)).mean() < 0.02
    assert 0.05 < got.mask.mean() < 0.3
    plain = PhotoSource(tmp_path / "a.png", 80, 60, mask=tmp_path / "m.png").load()
    assert plain.mask is not None
    assert (plain.mask != got.mask).any()


def test_mask_of_another_shape_is_refused(tmp_path):
    Image.new("L", (40, 30)).save(tmp_path / "a.png")
    Image.new("L", (30, 40)).save(tmp_path / "m.png")
    with pytest.raises(InputError, match="30x40"):
        PhotoSource(tmp_path / "a.png", 40, 30, mask=tmp_path / "m.png").load()


def test_nearest_takes_the_pixel_under_the_centre():
    assert nearest(np.arange(6).reshape(1, 6), 3, 1)[0].tolist() == [1, 3, 5]
    assert nearest(np.arange(2).reshape(1, 2), 4, 1)[0].tolist() == [0, 0, 1, 1]
