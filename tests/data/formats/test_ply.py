"""INRIA PLY: real files, hand-made headers, an independent reader, and damage."""

import errno
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plyfile import PlyData, PlyElement
from sceneloom.data import files
from sceneloom.data.errors import InputError
from sceneloom.data.formats import read_splats, write_splats
from sceneloom.data.formats.ply import holds_splats, read_ply, write_ply
from sceneloom.data.formats.ply_kind import REQUIRED

from ...shared_data import shared
from .random_splats import random_splats, same


def header(rows: int, names: list[str], kind: str = "binary_little_endian", extra: str = "", end: str = "\n") -> bytes:
    lines = ["ply", f"format {kind} 1.0", *extra.splitlines(), f"element vertex {rows}"]
    return end.join([*lines, *(f"property float {n}" for n in names), "end_header", ""]).encode()


# ---- real files


def test_a_trained_tile_has_its_known_values():
    g = read_ply(shared("data/splats/inria_tile_lod4.ply"))
    assert (len(g), g.degree) == (489, 3)
    np.testing.assert_allclose(g.means.min(0), (0.00125, 0.01335, 3.80933), atol=1e-5)
    np.testing.assert_allclose(g.means.max(0), (3.99719, 3.99497, 5.62739), atol=1e-5)
    np.testing.assert_allclose((g.logits.min(), g.logits.max()), (-3.404, 16.742), atol=1e-3)
    np.testing.assert_allclose((g.log_scales[:, 0].min(), g.log_scales[:, 0].max()), (-19.77, -0.372), atol=5e-3)
    norms = np.linalg.norm(g.quats, axis=1)
    np.testing.assert_allclose((norms.min(), norms.max()), (0.462, 2.0), atol=1e-3)
    np.testing.assert_allclose((g.sh[:, 0, 0].min(), g.sh[:, 0, 0].max()), (-1.874, 9.588), atol=1e-3)


def test_a_second_tile_has_its_known_values():
    g = read_ply(shared("data/splats/inria_tile_lod5.ply"))
    assert len(g) == 111
    np.testing.assert_allclose(g.means.min(0), (0.00669, 0.00917, 3.83252), atol=1e-5)
    np.testing.assert_allclose(g.means.max(0), (3.99776, 3.99434, 5.60024), atol=1e-5)
    assert g.log_scales[:, 0].max() == pytest.approx(0.00389, abs=1e-5)


def test_normals_that_are_not_zero_do_not_matter():
    g = read_ply(shared("data/splats/test-splat.3-points-from-train.ply"))
    np.testing.assert_allclose(g.means[:, 0], (2.00785, -1.49923, -2.74808), atol=1e-5)
    np.testing.assert_allclose(g.logits, (0.84991, -3.20847, -1.83401), atol=1e-5)
    np.testing.assert_allclose(g.sh[:, 0, 0], (1.10786, -0.26679, 0.00238), atol=1e-5)
    np.testing.assert_allclose(np.sort(np.linalg.norm(g.quats, axis=1))[[0, -1]], (0.708, 1.059), atol=1e-3)


def test_an_ascii_file_without_normals_and_f_rest():
    g = read_ply(shared("data/splats/unitCube-ascii.ply"))
    assert (len(g), g.degree) == (20, 0)
    np.testing.assert_array_equal(g.means.min(0), (0, -10, -10))
    np.testing.assert_array_equal(g.means.max(0), (10, 0, 0))
    assert (g.logits == 20).all()
    np.testing.assert_allclose((g.log_scales.min(), g.log_scales.max()), (0.1, 1))
    np.testing.assert_allclose((g.sh.min(), g.sh.max()), (-1.77245, 1.77245), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("beetle.binary.ply", "a mesh"),
        ("openmvs_Sparse_points.ply", "a point cloud"),
        ("brush_init_points.ply", "a point cloud"),
    ],
)
def test_points_and_meshes_are_refused_by_what_they_lack(name, what):
    path = shared("data/splats/not_splats") / name
    assert not holds_splats(path)
    with pytest.raises(InputError, match=f"{what}, not Gaussian splats: it lacks f_dc_0.*opacity, scale_0.*rot_3"):
        read_splats(path)


# ---- headers of all kinds


@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
def test_any_order_encoding_and_extra_properties(tmp_path: Path, kind: str, end: str, degree: int):
    g = random_splats(7, degree)
    rest = [f"f_rest_{i}" for i in range(3 * (g.sh.shape[1] - 1))]
    planar = g.sh[:, 1:].transpose(0, 2, 1).reshape(7, -1)
    table = np.concatenate(
        [g.means, g.sh[:, 0], g.logits[:, None], g.log_scales, g.quats, planar, np.full((7, 3), 9)], 1
    )
    names = [*REQUIRED, *rest, "red", "id", "nx"]
    order = np.random.default_rng(1).permutation(len(names))
    table, names = table[:, order].astype(np.float32), [names[i] for i in order]
    head = header(7, names, kind, "comment made by hand\nobj_info x y z\ncomment", end)
    if kind == "ascii":
        body = "".join(" ".join(repr(float(x)) for x in row) + end for row in table).encode()
    else:
        body = table.astype("<f4" if "little" in kind else ">f4").tobytes()
    path = tmp_path / "shuffled.ply"
    path.write_bytes(head + body)
    assert same(read_ply(path), g)


def test_elements_with_lists_before_the_vertices_are_stepped_over(tmp_path: Path):
    g = random_splats(5, 0)
    names = list(REQUIRED)
    table = np.concatenate([g.means, g.sh[:, 0], g.logits[:, None], g.log_scales, g.quats], 1).astype("<f4")
    head = header(5, names, extra="element face 2\nproperty list uchar int vertex_indices\nproperty float area")
    faces = b"\x03" + bytes(12) + bytes(4) + b"\x01" + bytes(4) + bytes(4)
    path = tmp_path / "faces_first.ply"
    path.write_bytes(head + faces + table.tobytes())
    assert same(read_ply(path), g)


@pytest.mark.parametrize("count", [1, 8, 10, 44, 46, 71])
def test_odd_numbers_of_f_rest_are_refused(tmp_path: Path, count: int):
    names = [*REQUIRED, *(f"f_rest_{i}" for i in range(count))]
    path = tmp_path / "odd.ply"
    path.write_bytes(header(1, names) + bytes(4 * len(names)))
    with pytest.raises(InputError, match=f"has {count} f_rest properties; wanted"):
        read_ply(path)


def test_a_hole_in_the_f_rest_numbering_is_refused(tmp_path: Path):
    names = [*REQUIRED, *(f"f_rest_{i}" for i in range(10) if i != 4)]
    path = tmp_path / "hole.ply"
    path.write_bytes(header(1, names) + bytes(4 * len(names)))
    with pytest.raises(InputError, match="f_rest"):
        read_ply(path)


# ---- writing


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
def test_an_independent_reader_finds_planar_f_rest(tmp_path: Path, degree: int):
    g = random_splats(11, degree)
    path = tmp_path / "out.ply"
    assert write_splats(path, g) == 0
    vertex = PlyData.read(path)["vertex"]
    wanted = ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"]
    k = (degree + 1) ** 2
    wanted += [f"f_rest_{i}" for i in range(3 * (k - 1))]
    wanted += ["opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"]
    assert [p.name for p in vertex.properties] == wanted
    for channel in range(3):
        np.testing.assert_array_equal(vertex[f"f_dc_{channel}"], g.sh[:, 0, channel])
        for j in range(k - 1):
            np.testing.assert_array_equal(vertex[f"f_rest_{channel * (k - 1) + j}"], g.sh[:, j + 1, channel])
    np.testing.assert_array_equal(vertex["opacity"], g.logits)
    np.testing.assert_array_equal(vertex["scale_1"], g.log_scales[:, 1])
    np.testing.assert_array_equal(vertex["rot_0"], g.quats[:, 0])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(0, 4), st.integers(0, 2**31))
def test_round_trip_is_exact(tmp_path_factory, n: int, degree: int, seed: int):
    g = random_splats(n, degree, seed)
    path = tmp_path_factory.mktemp("ply") / "round.ply"
    write_ply(path, g)
    assert same(read_ply(path), g)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("field", ["means", "quats", "log_scales", "logits", "sh"])
def test_rows_that_are_not_finite_are_left_out_and_counted(tmp_path: Path, bad: float, field: str):
    g = random_splats(6, 1)
    getattr(g, field).reshape(6, -1)[[1, 4], 0] = bad
    path = tmp_path / "finite.ply"
    assert write_ply(path, g) == 2
    assert same(read_ply(path), g.select(np.array([0, 2, 3, 5])))


def test_nothing_finite_is_an_error_and_leaves_no_file(tmp_path: Path):
    g = random_splats(3, 0)
    g.means[:] = np.nan
    with pytest.raises(InputError, match="none of them finite"):
        write_ply(tmp_path / "none.ply", g)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_keeps_the_old_file_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "scene.ply"
    path.write_bytes(b"the old one")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*scene\.ply: No space left on device"):
        write_ply(path, random_splats(3, 0))
    assert path.read_bytes() == b"the old one"
    assert [p.name for p in tmp_path.iterdir()] == ["scene.ply"]


def test_what_the_disk_garbles_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def garble(file, head, table):
        file.write(head)
        file.write((table + 1).tobytes())

    monkeypatch.setattr("sceneloom.data.formats.ply._put", garble)
    with pytest.raises(InputError, match="other means than were written"):
        write_ply(tmp_path / "scene.ply", random_splats(3, 0))
    assert list(tmp_path.iterdir()) == []


# ---- damage


@pytest.mark.parametrize("rows", [10**12, 10**17, 10**18 - 1])
@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian"])
def test_a_header_that_claims_too_much_costs_nothing(tmp_path: Path, rows: int, kind: str):
    path = tmp_path / "bomb.ply"
    path.write_bytes(header(rows, list(REQUIRED), kind) + bytes(100))
    with pytest.raises(InputError, match="cut short"):
        read_ply(path)


def test_a_claim_of_faces_before_the_vertices_costs_nothing(tmp_path: Path):
    path = tmp_path / "bomb.ply"
    extra = "element face 999999999999\nproperty list uchar int vertex_indices"
    path.write_bytes(header(1, list(REQUIRED), extra=extra) + bytes(200))
    with pytest.raises(InputError, match="cut short"):
        read_ply(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a PLY"),
        (b"solid x", "not a PLY"),
        (b"ply\n", "end_header"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x", "end_header"),
        (b"ply\nelement vertex 0\nproperty float x\nend_header\n", "format"),
        (b"ply\nformat ascii 2.0 x\nend_header\n", "not understood"),
        (b"ply\nformat ascii 1.0\nproperty float x\nend_header\n", "not understood"),
        (b"ply\nformat ascii 1.0\nelement vertex -3\nend_header\n", "whole number"),
        (b"ply\nformat ascii 1.0\nelement vertex 1e9\nend_header\n", "whole number"),
        (b"ply\nformat ascii 1.0\nelement vertex " + b"9" * 3000 + b"\nend_header\n", "whole number"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float x\nend_header\n1 1\n", "twice"),
        (b"ply\nformat ascii 1.0\nend_header\n", "neither"),
        (b"ply\n" + b"comment x\n" * 200_000, "end_header"),
    ],
)
def test_headers_that_are_no_headers(tmp_path: Path, data: bytes, message: str):
    path = tmp_path / "bad.ply"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_ply(path)


def test_every_truncation_is_noticed(tmp_path: Path):
    path = tmp_path / "cut.ply"
    write_ply(path, random_splats(2, 1))
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            read_ply(path)


@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian"])
def test_mutated_files_give_an_error_or_splats(tmp_path: Path, kind: str):
    g = random_splats(3, 1)
    path = tmp_path / "mutant.ply"
    write_ply(path, g)
    if kind == "ascii":
        data = PlyData.read(path)
        out = io.BytesIO()
        PlyData([PlyElement.describe(data["vertex"].data, "vertex")], text=True).write(out)
        path.write_bytes(out.getvalue())
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(120):
        mutant = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 6)):
            mutant[at] = rng.integers(0, 256)
        path.write_bytes(mutant)
        try:
            found = read_ply(path)
        except InputError:
            continue
        assert len(found) <= len(whole)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"no such splat file: .*gone\.ply"):
        read_splats(tmp_path / "gone.ply")
