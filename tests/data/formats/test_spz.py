"""SPZ: real files of three versions, round trips within the quantisation steps, and damage."""

import gzip
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from sceneloom.data.errors import InputError
from sceneloom.data.formats import read_splats, write_splats
from sceneloom.data.formats.quantised import sigmoid
from sceneloom.data.formats.spz import SH_SIGNS, read_spz, write_spz
from sceneloom.data.gaussians import SH_C0, Gaussians

from ...shared_data import shared
from .random_splats import random_splats, same, turn_between


@pytest.mark.parametrize(
    ("version", "low", "high", "green"), [(2, (-1, 0, -1), (0, 0, 0), 85), (3, (-1, 0, 0), (0, 0, 1), 105)]
)
def test_four_splats_in_either_gzip_version(version, low, high, green):
    g = read_spz(shared(f"data/splats/minimal-v{version}.spz"))
    assert (len(g), g.degree) == (4, 0)
    stored = g.means * (1, -1, -1)  # RUB in the file
    np.testing.assert_array_equal(stored.min(0), low)
    np.testing.assert_array_equal(stored.max(0), high)
    assert (g.log_scales == -2.3125).all()
    np.testing.assert_allclose(sigmoid(g.logits), 230 / 255, atol=1e-6)
    assert turn_between(g.quats, np.array([[1.0, 0, 0, 0]])).max() < 1.2  # v2 cannot store 0 exactly
    colours = np.rint((g.sh[:, 0] * 0.15 + 0.5) * 255)
    assert set(np.unique(colours)) <= {green, 150, 170, 128, 85}


def test_both_biker_files_agree_in_our_axes():
    pytest.importorskip("zstandard")
    a, b = read_splats(shared("data/splats/biker.compressed.ply")), read_splats(shared("data/splats/biker_v4.spz"))
    assert len(a) == len(b) == 152_746
    for g in (a, b):
        np.testing.assert_allclose(g.means.min(0), (-0.62126, -3.18008, -0.53226), atol=4e-4)
        np.testing.assert_allclose(g.means.max(0), (0.4144, 0, 0.61328), atol=4e-4)
        np.testing.assert_allclose(g.means.mean(0), (-0.04857, -1.60505, 0.00229), atol=1e-4)
        assert sigmoid(g.logits).mean() == pytest.approx(0.29663, abs=1e-4)
        np.testing.assert_allclose((0.5 + SH_C0 * g.sh[:, 0]).mean(0), (0.31889, 0.30773, 0.30072), atol=1e-4)
        np.testing.assert_allclose(g.log_scales.mean(0), (-6.13126, -5.379, -6.04757), atol=5e-4)
    # The same splats in the same order: positions to the coarser grid, rotations to 9 or 10 bits.
    assert np.abs(a.means - b.means).max() < 1e-3
    assert np.median(turn_between(a.quats, b.quats)) < 0.2


def test_version_4_without_zstd_is_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    path = shared("data/splats/biker_v4.spz")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match="SPZ version 4, which needs the package 'zstandard'"):
        read_spz(path)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_round_trip_within_the_quantisation_steps(tmp_path: Path, degree: int):
    g = random_splats(500, degree)
    path = tmp_path / "round.spz"
    assert write_splats(path, g) == 0
    again = read_splats(path)
    assert again.degree == degree
    assert np.abs(again.means - g.means).max() <= 0.5 / 4096 + 1e-6
    assert np.abs(again.log_scales - g.log_scales).max() <= 0.5 / 16 + 1e-6
    assert np.abs(sigmoid(again.logits) - sigmoid(g.logits)).max() <= 0.5 / 255 + 1e-3
    assert np.abs(again.sh[:, 0] - g.sh[:, 0]).max() <= 0.5 / 255 / 0.15 + 1e-6
    assert turn_between(again.quats, g.quats).max() < 0.25
    inside = np.abs(g.sh) < 0.9  # the format ends at 1
    for band, step in ((slice(1, 4), 8), (slice(4, 16), 16)):
        assert np.where(inside, np.abs(again.sh - g.sh), 0)[:, band].max(initial=0) <= 0.5 * step / 128 + 1e-6
    write_spz(tmp_path / "twice.spz", again)
    twice = read_spz(tmp_path / "twice.spz")
    assert all(np.array_equal(getattr(twice, f), getattr(again, f)) for f in ("means", "log_scales", "sh"))


def test_the_axes_flip_is_the_half_turn_about_x():
    """Flipping y and z is a rotation; colours seen along a turned direction must not change."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sh = rng.normal(size=16)
    signs = np.concatenate([[1], SH_SIGNS])
    np.testing.assert_allclose(_basis(directions) @ sh, _basis(directions * (1, -1, -1)) @ (sh * signs), atol=1e-12)


def test_a_wide_scene_gets_fewer_fractional_bits(tmp_path: Path):
    g = random_splats(20, 0)
    wide = g.moved(1.0, np.array([30_000.0, 0, 0]))
    write_spz(tmp_path / "wide.spz", wide)
    assert np.abs(read_spz(tmp_path / "wide.spz").means - wide.means).max() <= 1 / 256
    with pytest.raises(InputError, match="from the origin"):
        write_spz(tmp_path / "far.spz", g.moved(1.0, np.array([1e9, 0, 0])))


def test_rows_that_are_not_finite_are_left_out(tmp_path: Path):
    g = random_splats(5, 1)
    g.logits[2] = -np.inf
    assert write_spz(tmp_path / "f.spz", g) == 1
    assert len(read_spz(tmp_path / "f.spz")) == 4
    assert [p.name for p in tmp_path.iterdir()] == ["f.spz"]


def test_the_same_splats_give_the_same_file(tmp_path: Path):
    for name in ("a.spz", "b.spz"):
        write_spz(tmp_path / name, random_splats(9, 3))
    assert (tmp_path / "a.spz").read_bytes() == (tmp_path / "b.spz").read_bytes()
    assert same(read_spz(tmp_path / "a.spz"), read_spz(tmp_path / "b.spz"))


def test_degree_4_does_not_fit(tmp_path: Path):
    with pytest.raises(InputError, match="degree"):
        write_spz(tmp_path / "x.spz", random_splats(2, 4))


def test_headers_that_lie(tmp_path: Path):
    path = tmp_path / "bad.spz"

    def refuses(data: bytes, message: str) -> None:
        path.write_bytes(data)
        with pytest.raises(InputError, match=message):
            read_spz(path)

    def head(version=3, n=4, degree=0, bits=12) -> bytes:
        return struct.pack("<4sIIBBBB", b"NGSP", version, n, degree, bits, 0, 0)

    refuses(b"", "cut short")
    refuses(b"NGSP", "cut short")
    refuses(b"no gzip at all", "not an SPZ")
    refuses(gzip.compress(b"NGSX" + bytes(100)), "no 'NGSP'")
    refuses(gzip.compress(head(n=2**32 - 1) + bytes(100)), "claims 4294967295 splats")
    refuses(gzip.compress(head(n=300_000) + bytes(7_000_000)), "damaged")
    refuses(gzip.compress(head(version=9) + bytes(100)), "version 9")
    refuses(gzip.compress(head(degree=7) + bytes(100)), "damaged")
    refuses(gzip.compress(head() + bytes(79)), "damaged: 4 splats need 80 bytes, 79 are there")
    refuses(gzip.compress(head() + bytes(81)), "damaged")
    refuses(gzip.compress(head() + bytes(80))[:-12], "cut short|damaged")


def test_mutated_files_give_an_error_or_splats(tmp_path: Path):
    path = tmp_path / "mutant.spz"
    write_spz(path, random_splats(20, 1))
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        mutant = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 5)):
            mutant[at] = rng.integers(0, 256)
        path.write_bytes(mutant[: rng.integers(1, len(whole) + 1)])
        try:
            found = read_spz(path)
        except InputError:
            continue
        assert isinstance(found, Gaussians)
        assert len(found) < 10_000


@pytest.mark.parametrize(
    "name",
    ["minimal.splat", "minimal.ksplat", "wave_0001.sog", "khr_conformance_matrix.glb", "cesium_draft_synthetic.gltf"],
)
def test_formats_that_are_not_read_are_refused_by_name(name):
    with pytest.raises(InputError, match=r"(\.splat|\.ksplat|SOG|glTF) file, which cannot be read"):
        read_splats(shared(f"data/splats/{name}"))


def _basis(d: np.ndarray) -> np.ndarray:
    """Real spherical harmonics up to degree 3 without their constants, [N, 16]."""
    x, y, z = d.T
    one = np.ones_like(x)
    band2 = [x * y, y * z, 2 * z * z - x * x - y * y, x * z, x * x - y * y]
    band3 = [
        y * (3 * x * x - y * y), x * y * z, y * (4 * z * z - x * x - y * y), z * (2 * z * z - 3 * x * x - 3 * y * y),
        x * (4 * z * z - x * x - y * y), z * (x * x - y * y), x * (x * x - 3 * y * y),
    ]  # fmt: skip
    return np.stack([one, y, z, x, *band2, *band3], 1)
