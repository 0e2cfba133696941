from pathlib import Path

import numpy as np
import pytest
from sceneloom.data.errors import InputError
from sceneloom.data.formats.ply import write_ply
from sceneloom.data.formats.ply_points import read_points_ply, write_points_ply

from ...shared_data import shared
from .random_splats import random_splats


def test_a_sparse_cloud_of_a_foreign_tool():
    xyz, rgb = read_points_ply(shared("data/splats/not_splats/openmvs_Sparse_points.ply"))
    assert xyz.shape == rgb.shape == (12683, 3)
    np.testing.assert_allclose(xyz.min(0), (-8.567, -40.963, -3.286), atol=1e-3)
    np.testing.assert_allclose(xyz.max(0), (6.847, 7.148, 2.153), atol=1e-3)
    assert rgb.dtype == np.uint8
    assert rgb.std() > 10


def test_a_mesh_gives_its_vertices_and_an_rgba_cloud_its_points():
    xyz, rgb = read_points_ply(shared("data/splats/not_splats/beetle.binary.ply"))
    assert len(xyz) == 1148
    assert (rgb == 128).all()  # its colours belong to faces
    xyz, rgb = read_points_ply(shared("data/splats/not_splats/brush_init_points.ply"))
    assert len(xyz) == 100
    assert (rgb == 0).all()  # all black in the file


def test_round_trip_keeps_map_coordinates(tmp_path: Path):
    rng = np.random.default_rng(0)
    xyz = rng.normal((452_000.5, 5_411_000.25, 310), 30, (50, 3))
    rgb = rng.integers(0, 256, (50, 3)).astype(np.uint8)
    write_points_ply(tmp_path / "p.ply", xyz, rgb)
    again = read_points_ply(tmp_path / "p.ply")
    np.testing.assert_array_equal(again[0], xyz)
    np.testing.assert_array_equal(again[1], rgb)


@pytest.mark.parametrize(
    ("kind", "row"),
    [("uchar", "255 128 0"), ("float", "1.0 0.501 0"), ("float", "255 128 0"), ("ushort", "65535 32896 0")],
)
def test_colours_of_any_type(tmp_path: Path, kind: str, row: str):
    names = "".join(f"property {kind} {c}\n" for c in ("red", "green", "blue"))
    xyz_names = "".join(f"property float {c}\n" for c in "xyz")
    head = f"ply\nformat ascii 1.0\nelement vertex 2\n{xyz_names}{names}end_header\n"
    (tmp_path / "c.ply").write_text(head + f"0 0 0 {row}\nnan 0 0 {row}\n")
    xyz, rgb = read_points_ply(tmp_path / "c.ply")
    assert len(xyz) == 1  # the point that is nowhere is dropped
    assert rgb.tolist() == [[255, 128, 0]]


def test_splats_serve_as_points_too(tmp_path: Path):
    g = random_splats(5, 0)
    g.sh[:] = 0
    write_ply(tmp_path / "s.ply", g)
    xyz, rgb = read_points_ply(tmp_path / "s.ply")
    np.testing.assert_allclose(xyz, g.means)
    assert (rgb == 128).all()


def test_no_coordinates_no_points(tmp_path: Path):
    (tmp_path / "n.ply").write_text("ply\nformat ascii 1.0\nelement vertex 1\nproperty float u\nend_header\n0\n")
    with pytest.raises(InputError, match="no x, y, z"):
        read_points_ply(tmp_path / "n.ply")
