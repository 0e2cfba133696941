"""Points of any PLY that has x y z: point clouds, meshes (their vertices) and splats (their centres)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import InputError
from ..files import write_atomically
from ..gaussians import SH_C0
from .ply_elements import Header, columns, read_element, read_header
from .ply_kind import DC, XYZ, PlyKind, kind_of

RGB_NAMES = (("red", "green", "blue"), ("r", "g", "b"), ("diffuse_red", "diffuse_green", "diffuse_blue"))


def read_points_ply(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """(xyz [P, 3] float64, rgb [P, 3] uint8); mid grey where the file has no colour. Non-finite points are dropped."""
    header = read_header(path)
    kind = kind_of(header)
    if kind in (PlyKind.OTHER, PlyKind.COMPRESSED):
        raise InputError(f"{path} is {kind.value}: no x, y, z of points to start from")
    rows = read_element(header, "vertex")
    xyz = np.stack([rows[name].astype(np.float64) for name in XYZ], 1)
    finite = np.isfinite(xyz).all(1)
    return xyz[finite], _colours(header, rows)[finite]


def write_points_ply(path: Path, xyz: np.ndarray, rgb: np.ndarray) -> None:
    """x y z as double (world coordinates may be large), red green blue as uchar; binary little endian, atomic."""
    rows = np.empty(len(xyz), [(n, "<f8") for n in XYZ] + [(n, "u1") for n in RGB_NAMES[0]])
    for i in range(3):
        rows[XYZ[i]], rows[RGB_NAMES[0][i]] = xyz[:, i], rgb[:, i]
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(rows)}"]
    lines += [f"property double {n}" for n in XYZ] + [f"property uchar {n}" for n in RGB_NAMES[0]] + ["end_header", ""]
    write_atomically(path, lambda file: (file.write("\n".join(lines).encode()), file.write(rows.tobytes()), None)[-1])


def _colours(header: Header, rows: np.ndarray) -> np.ndarray:
    vertex = header.element("vertex")
    names = set(vertex.names) if vertex else set()
    if kind_of(header) is PlyKind.SPLATS:
        return _bytes(255 * (0.5 + SH_C0 * columns(rows, DC)))
    for rgb in RGB_NAMES:
        if set(rgb) <= names:
            values = columns(rows, rgb)
            kind = rows.dtype[rgb[0]]
            if kind.kind == "f":  # floats: 0..1 by custom, 0..255 in files whose writer only changed the type
                values = values * 255 if np.nanmax(values, initial=0) <= 1 else values
            elif kind.itemsize == 2:
                values = values / 257
            return _bytes(values)
    return np.full((len(rows), 3), 128, np.uint8)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(np.nan_to_num(values)), 0, 255).astype(np.uint8)
