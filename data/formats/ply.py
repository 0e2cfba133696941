"""Gaussian splats as the PLY of the INRIA code (Kerbl et al. 2023) and of everyone since.

One float32 row per splat: x y z, nx ny nz (unused), f_dc_0..2, f_rest_*, opacity (logit), scale_0..2 (log), rot_0..3
(w x y z).
f_rest is planar: f_rest_{c * (K - 1) + j} is coefficient j + 1 of channel c, K = (degree + 1)^2.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import InputError
from ..files import write_atomically
from ..gaussians import Gaussians
from .ply_elements import columns, read_element, read_header
from .ply_kind import DC, QUATS, SCALES, XYZ, PlyKind, kind_of, missing_of
from .ply_points import read_points_ply as read_points_ply

REST_COUNTS = {3 * ((degree + 1) ** 2 - 1): degree for degree in range(5)}


def read_ply(path: Path) -> Gaussians:
    """Read an INRIA-style PLY by property name: any order, any scalar type, normals and unknown properties ignored."""
    header = read_header(path)
    kind = kind_of(header)
    if kind is PlyKind.COMPRESSED:
        from .compressed_ply import read_compressed_ply

        return read_compressed_ply(path)
    if kind is not PlyKind.SPLATS:
        hint = "; it can start a training as train.init=" if kind in (PlyKind.POINTS, PlyKind.MESH) else ""
        raise InputError(f"{path} is {kind.value}, not Gaussian splats: it lacks {', '.join(missing_of(header))}{hint}")
    vertex = header.element("vertex")
    assert vertex is not None
    rest = rest_names(path, vertex.names)
    rows = read_element(header, "vertex")
    dc, planar = columns(rows, DC)[:, None, :], columns(rows, rest).reshape(len(rows), 3, -1)
    return Gaussians(
        means=columns(rows, XYZ),
        quats=columns(rows, QUATS),
        log_scales=columns(rows, SCALES),
        logits=columns(rows, ("opacity",))[:, 0],
        sh=np.concatenate([dc, planar.transpose(0, 2, 1)], 1),
    )


def holds_splats(path: Path) -> bool:
    """Whether a PLY holds splats, plain or compressed (rather than points, a mesh or something else)."""
    return kind_of(read_header(path)) in (PlyKind.SPLATS, PlyKind.COMPRESSED)


def rest_names(path: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """f_rest_0, f_rest_1, ... in order; refuses counts that are no whole degree and numberings with holes."""
    count = sum(name.startswith("f_rest_") for name in names)
    wanted = tuple(f"f_rest_{i}" for i in range(count))
    if count not in REST_COUNTS or not set(wanted) <= set(names):
        allowed = ", ".join(map(str, REST_COUNTS))
        raise InputError(
            f"{path} has {count} f_rest properties; wanted f_rest_0, f_rest_1, ... numbering one of {allowed}"
        )
    return wanted


def write_ply(path: Path, gaussians: Gaussians) -> int:
    """Write a binary little-endian PLY atomically and re-read it. Returns how many non-finite rows were left out.

    Raises InputError when no finite splat remains or the disk refuses; `path` then keeps what it held.
    """
    keep = gaussians.finite()
    if not keep.any():
        raise InputError(f"nothing to write to {path}: {len(gaussians)} splats, none of them finite")
    kept = gaussians if keep.all() else gaussians.select(keep)
    names = (
        *XYZ,
        "nx",
        "ny",
        "nz",
        *DC,
        *(f"f_rest_{i}" for i in range(3 * (kept.sh.shape[1] - 1))),
        "opacity",
        *SCALES,
        *QUATS,
    )
    table = np.concatenate(
        [
            kept.means,
            np.zeros_like(kept.means),
            kept.sh[:, 0],
            kept.sh[:, 1:].transpose(0, 2, 1).reshape(len(kept), -1),
            kept.logits[:, None],
            kept.log_scales,
            kept.quats,
        ],
        axis=1,
        dtype="<f4",
    )
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(kept)}"]
    lines += [f"property float {name}" for name in names] + ["end_header", ""]

    def check(written: Path) -> None:
        again = read_ply(written)
        for name in ("means", "quats", "log_scales", "logits", "sh"):
            if not np.array_equal(getattr(again, name), getattr(kept, name)):
                raise OSError(f"the file holds other {name} than were written (bad disk?)")

    write_atomically(path, lambda file: _put(file, "\n".join(lines).encode(), table), check)
    return int((~keep).sum())


def _put(file: BinaryIO, header: bytes, table: np.ndarray) -> None:
    file.write(header)
    file.write(np.ascontiguousarray(table).data)
