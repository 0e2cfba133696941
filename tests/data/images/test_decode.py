"""Every common pixel format becomes the same 8-bit colour; EXIF turns; masks in their spellings."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sceneloom.data.errors import InputError
from sceneloom.data.images.decode import decode, decode_mask, premultiply, turn
from sceneloom.data.images.exif import read_exif
from sceneloom.data.images.masks import MaskFinder, mask_folders
from sceneloom.data.images.probe import probe

from ...shared_data import shared


def save(path: Path, array, mode=None, **kwargs) -> Path:
    image = Image.fromarray(np.asarray(array))
    (image.convert(mode) if mode else image).save(path, **kwargs)
    return path


def test_16_bit_grey_is_scaled_not_clipped(tmp_path):
    ramp = np.linspace(0, 65535, 64 * 48).reshape(48, 64).astype(np.uint16)
    rgb, alpha = decode(save(tmp_path / "a.png", ramp))
    assert alpha is None
    expected = np.round(ramp / 257.0)
    assert np.abs(rgb - expected[..., None]).max() <= 1
    assert len(np.unique(rgb)) == 256


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "1", "RGB", "LA", "RGBA"])
def test_modes_agree(tmp_path, mode):
    """A picture of pure black and white halves is the same in every mode."""
    grey = np.zeros((20, 30), np.uint8)
    grey[:, 15:] = 255
    ending = "tif" if mode == "CMYK" else "png"
    rgb, alpha = decode(save(tmp_path / f"a.{ending}", grey, mode))
    np.testing.assert_array_equal(rgb, grey[..., None].repeat(3, 2))
    assert (alpha is None) == (mode not in ("LA", "RGBA"))


def test_cmyk_jpeg(tmp_path):
    rgb = np.full((32, 32, 3), (200, 80, 40), np.uint8)
    got, _ = decode(save(tmp_path / "a.jpg", rgb, "CMYK", quality=98))
    assert np.abs(got.astype(int) - rgb).max() <= 4


def test_palette_and_colour_key_transparency(tmp_path):
    image = Image.new("P", (4, 4), 1)
    image.putpalette([255, 0, 0, 0, 255, 0])
    image.putpixel((0, 0), 0)
    image.save(tmp_path / "p.png", transparency=0)
    _, alpha = decode(tmp_path / "p.png")
    assert alpha is not None
    assert alpha[0, 0] == 0
    assert alpha[1, 1] == 255


def test_premultiply_is_rounded_to_nearest():
    rgb, alpha = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
    got = premultiply(rgb[..., None].repeat(3, 2), alpha)
    np.testing.assert_array_equal(got[..., 0], np.round(rgb * (alpha / 255.0) + 1e-9))


@pytest.mark.parametrize("orientation", range(10))
def test_exif_turn_agrees_with_pillow(tmp_path, orientation):
    from PIL import ImageOps

    pixels = np.random.default_rng(0).integers(0, 255, (6, 9, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save(tmp_path / "a.png", pixels, exif=exif.tobytes())
    header = probe(path)
    with Image.open(path) as image:
        expected = np.asarray(ImageOps.exif_transpose(image) if 1 <= orientation <= 8 else image)
    got = turn(decode(path)[0], header.orientation)
    np.testing.assert_array_equal(got, expected)
    assert header.upright_size == (got.shape[1], got.shape[0])


def test_real_exif_orientations():
    folder = shared("captures/exif_orientation")
    for i in range(9):
        path = folder / f"Landscape_{i}.jpg"
        header = probe(path)
        assert header.upright_size == (1800, 1200)
        assert header.orientation == max(i, 1)
        rgb = turn(decode(path)[0], header.orientation)
        np.testing.assert_allclose(rgb[:400].mean((0, 1)), (129.5, 155.7, 187.9), atol=0.1)


def test_real_exif_fields():
    exif = read_exif(
        shared("captures/brighton_beach_drone") / "images" / sorted_first("captures/brighton_beach_drone/images")
    )
    assert exif.focal == pytest.approx(3.61)
    assert exif.focal_35mm == 20
    assert (exif.make, exif.model) == ("DJI", "FC300S")
    assert exif.gps is not None
    latitude, longitude, altitude = exif.gps
    assert latitude == pytest.approx(46.8426, abs=1e-3)
    assert longitude == pytest.approx(-91.9946, abs=1e-3)
    assert altitude == pytest.approx(198.5, abs=0.4)
    assert exif.focal_px(1600, 900) == pytest.approx(889, abs=1)
    canon = read_exif(shared("captures/et_bundler/images") / sorted_first("captures/et_bundler/images"))
    assert canon.focal == pytest.approx(5.40625)
    assert canon.focal_35mm is None


def sorted_first(folder: str) -> str:
    return sorted(p.name for p in shared(folder).iterdir() if p.suffix.lower() == ".jpg")[0]


def test_broken_files_are_told_apart(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (200, 300, 3), np.uint8)
    for name in ("a.jpg", "a.png"):
        whole = save(tmp_path / name, noise).read_bytes()
        assert probe(tmp_path / name).problem is None
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        assert "cut short" in (probe(tmp_path / name).problem or "")
        with pytest.raises(InputError, match=rf"{name}: .*; remove the file or put a whole copy in its place$"):
            decode(tmp_path / name)
    (tmp_path / "empty.jpg").write_bytes(b"")
    assert "0 bytes" in (probe(tmp_path / "empty.jpg").problem or "")
    (tmp_path / "text.png").write_text("not a picture")
    assert "cannot be read" in (probe(tmp_path / "text.png").problem or "")


def test_heic_is_read_or_named():
    path = shared("captures/heic/example.heic")
    header = probe(path)
    try:
        import pillow_heif  # noqa: F401
    except ImportError:
        assert "pillow-heif" in (header.problem or "")
    else:
        assert (header.width, header.height) == (1280, 854)


def test_masks_of_zero_and_one_inverted_and_transparent(tmp_path):
    keep = np.zeros((4, 6), np.uint8)
    keep[:, 3:] = 1
    for scale in (1, 255):
        mask = decode_mask(save(tmp_path / "m.png", keep * scale))
        np.testing.assert_array_equal(mask, keep.astype(bool))
    np.testing.assert_array_equal(decode_mask(tmp_path / "m.png", invert=True), ~keep.astype(bool))
    rgba = np.full((4, 6, 4), 255, np.uint8)
    rgba[..., 3] = keep * 255
    np.testing.assert_array_equal(decode_mask(save(tmp_path / "t.png", rgba)), keep.astype(bool))


def test_mask_spellings_and_ambiguity(tmp_path):
    for name in ("a.png", "b.jpg.png", "c.mask.png", "D.PNG", "camA/e.png", "camB/f.png"):
        (tmp_path / "masks" / name).parent.mkdir(parents=True, exist_ok=True)
        save(tmp_path / "masks" / name, np.zeros((2, 2), np.uint8))
    names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "camA/e.jpg", "images/camB/f.jpg", "camC/a.jpg"]
    finder = MaskFinder(mask_folders([tmp_path]), names)
    found = {n: finder.find(n) for n in names}
    assert [p.name if p else None for p in found.values()] == [
        "a.png",
        "b.jpg.png",
        "c.mask.png",
        "D.PNG",
        "e.png",
        "f.png",
        None,
    ]
    assert finder.find("zzz.jpg") is None
