"""SuperSplat's compressed PLY, read only: chunks of 256 splats, four packed words a splat, relative to its chunk's box.

packed_position, packed_scale  11 + 10 + 11 bits (x high) between the chunk's min and max; scales are logs
packed_rotation                2 bits: which of (w, x, y, z) is largest and left out; 3 x 10 bits +-1/sqrt(2): the rest
packed_color                   8 bits each r g b a (r high); rgb = 0.5 + SH_C0 f_dc, between the chunk's colour box
                               where there is one; a = opacity
element sh (optional)          uchar f_rest_*, planar as in the INRIA PLY, 0..255 -> -4..4
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import InputError
from ..gaussians import SH_C0, Gaussians
from .ply_elements import columns, read_element, read_header
from .quantised import alpha_to_logit, largest_from_rest

CHUNK = 256
PACKED = ("packed_position", "packed_rotation", "packed_scale", "packed_color")


def read_compressed_ply(path: Path) -> Gaussians:
    """Decode to raw parameters; raises InputError when chunks, columns and counts do not fit together."""
    header = read_header(path)
    chunks, packed = read_element(header, "chunk"), read_element(header, "vertex")
    missing = [n for n in PACKED if n not in (packed.dtype.names or ())]
    missing += [n for n in (*_box("min", "xyz"), *_box("min_scale", "xyz")) if n not in (chunks.dtype.names or ())]
    if missing:
        raise InputError(f"{path} is a compressed PLY without {', '.join(missing)}")
    n = len(packed)
    if len(chunks) != -(-n // CHUNK):
        raise InputError(
            f"{path}: {n} compressed splats need {-(-n // CHUNK)} chunks of {CHUNK}, the file has {len(chunks)}"
        )
    words = {name: packed[name].astype(np.uint32) for name in PACKED}

    def in_box(unit: np.ndarray, prefix: str, axes: str) -> np.ndarray:
        low = columns(chunks, _box(f"min{prefix}", axes)).repeat(CHUNK, 0)[:n]
        high = columns(chunks, _box(f"max{prefix}", axes)).repeat(CHUNK, 0)[:n]
        return low + unit * (high - low)

    colour = _fields(words["packed_color"], (8, 8, 8, 8))
    rgb = in_box(colour[:, :3], "", "rgb") if "min_r" in (chunks.dtype.names or ()) else colour[:, :3]
    rotation = words["packed_rotation"]
    rest = (_fields(rotation & 0x3FFFFFFF, (10, 10, 10)) - 0.5) * np.float32(2**0.5)
    sh = [((rgb - 0.5) / np.float32(SH_C0))[:, None, :]]
    if header.element("sh") is not None:
        sh.append(_rest(path, read_element(header, "sh"), n))
    return Gaussians(
        means=in_box(_fields(words["packed_position"], (11, 10, 11)), "", "xyz"),
        quats=largest_from_rest((rotation >> 30).astype(np.intp), rest),
        log_scales=in_box(_fields(words["packed_scale"], (11, 10, 11)), "_scale", "xyz"),
        logits=alpha_to_logit(colour[:, 3], 255),
        sh=np.concatenate(sh, 1),
    )


def _box(prefix: str, axes: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{axis}" for axis in axes)


def _fields(words: np.ndarray, bits: tuple[int, ...]) -> np.ndarray:
    """[n] uint32 -> [n, len(bits)] float32 in 0..1; the first field is the highest."""
    out = np.empty((len(words), len(bits)), np.float32)
    shift = sum(bits)
    for i, width in enumerate(bits):
        shift -= width
        out[:, i] = ((words >> np.uint32(shift)) & np.uint32((1 << width) - 1)) / np.float32((1 << width) - 1)
    return out


def _rest(path: Path, rows: np.ndarray, n: int) -> np.ndarray:
    from .ply import rest_names

    names = rest_names(path, rows.dtype.names or ())
    if len(rows) != n:
        raise InputError(f"{path}: {n} splats but {len(rows)} rows of spherical harmonics")
    planar = columns(rows, names) * np.float32(8 / 255) - 4
    return planar.reshape(n, 3, -1).transpose(0, 2, 1)
