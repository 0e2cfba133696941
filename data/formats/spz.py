"""SPZ (Niantic): quantised splats. Reads v2, v3 (gzip) and, with the `zstandard` package, v4; writes v3.

Header, 16 bytes little endian: 'NGSP', version u32, splats u32, SH degree u8, fractional bits u8, flags u8
(1: anti-aliased), reserved u8.
Then whole streams, one after the other (v4: each its own zstd frame behind a table of sizes):
  positions 3 x i24 fixed point | alphas u8 | colours 3 x u8 | log-scales 3 x u8 in 1/16 from -10
  rotations v2: x y z u8 | v3, v4: u32 smallest three of (x, y, z, w), 2 + 3 x (sign + 9 bits)
  SH u8, coefficient by coefficient with the channel innermost, (v - 128) / 128
Axes: SPZ is RUB (x right, y up, z back), ours is RDF: y and z change sign, in quaternions and spherical harmonics too.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from types import ModuleType

import numpy as np

from ..errors import InputError
from ..files import write_atomically
from ..gaussians import Gaussians
from .quantised import alpha_to_logit, largest_from_rest, rest_of_largest, sigmoid, unit_quaternions

MAGIC = b"NGSP"
HEADER = struct.Struct("<4sIIBBBB")
COLOUR_SCALE = 0.15
FRACTIONAL_BITS = 12
# Steps in which the reference encoder rounds SH bytes: 5 bits for the first band, 4 for the others.
SH_STEPS = (8, 16)
# +1 / -1 per coefficient 1..15 under (x, y, z) -> (x, -y, -z): the parity of y and z in each real spherical harmonic.
SH_SIGNS = np.array([-1, -1, 1, -1, 1, 1, -1, 1, -1, 1, -1, -1, 1, -1, 1], np.float32)
QUAT_SIGNS = np.array([1, 1, -1, -1], np.float32)  # (w, x, y, z)
AXIS_SIGNS = np.array([1, -1, -1], np.float32)
# gzip cannot shrink by more than this, so a header that claims more is lying.
MAX_RATIO = 1032


def read_spz(path: Path) -> Gaussians:
    """Decode to raw parameters in RDF axes. InputError for files that are no SPZ, cut short or of unknown version."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if data[:4] == MAGIC:
        header, body = _unpack_v4(path, data)
    else:
        header, body = _unpack_gzip(path, data)
    version, n, degree, bits = header[1], header[2], header[3], header[4]
    sizes = _stream_sizes(n, degree, version)
    streams = [
        np.frombuffer(body, np.uint8, size, start)
        for size, start in zip(sizes, np.cumsum([0, *sizes[:-1]]), strict=True)
    ]
    positions, alphas, colours, scales, rotations, sh = streams
    rest = (sh.reshape(n, -1, 3).astype(np.float32) - 128) / 128
    dc = (colours.reshape(n, 1, 3) / np.float32(255) - 0.5) / np.float32(COLOUR_SCALE)
    return Gaussians(
        means=_fixed24(positions).reshape(n, 3) * (AXIS_SIGNS / np.float32(2.0**bits)),
        quats=(_quats_v2(rotations) if version == 2 else _quats_v3(rotations)) * QUAT_SIGNS,
        log_scales=scales.reshape(n, 3) / np.float32(16) - 10,
        logits=alpha_to_logit(alphas / np.float32(255), 255),
        sh=np.concatenate([dc, rest * SH_SIGNS[: rest.shape[1], None]], 1).astype(np.float32),
    )


def write_spz(path: Path, gaussians: Gaussians, antialiased: bool = False) -> int:
    """Write SPZ v3 atomically and re-read it. Returns how many non-finite rows were left out."""
    keep = gaussians.finite()
    if not keep.any():
        raise InputError(f"nothing to write to {path}: {len(gaussians)} splats, none of them finite")
    if gaussians.degree > 3:
        raise InputError(f"cannot write {path}: SPZ v3 holds SH up to degree 3, these splats have {gaussians.degree}")
    kept = gaussians.select(keep)
    bits = _fractional_bits(path, kept.means)
    body = b"".join(
        (
            HEADER.pack(MAGIC, 3, len(kept), kept.degree, bits, int(antialiased), 0),
            _pack_fixed24(kept.means * AXIS_SIGNS, bits),
            _bytes(sigmoid(kept.logits) * 255),
            _bytes((kept.sh[:, 0] * COLOUR_SCALE + 0.5) * 255),
            _bytes((kept.log_scales + 10) * 16),
            _pack_quats_v3(kept.quats * QUAT_SIGNS),
            _pack_sh(kept.sh[:, 1:]),
        )
    )

    def check(written: Path) -> None:
        if _unpack_gzip(written, written.read_bytes())[1] != body[HEADER.size :]:
            raise OSError("the file holds other bytes than were written (bad disk?)")

    # mtime=0: the same splats give the same file.
    write_atomically(path, lambda file: (file.write(gzip.compress(body, 6, mtime=0)), None)[-1], check)
    return int((~keep).sum())


def _stream_sizes(n: int, degree: int, version: int) -> list[int]:
    return [9 * n, n, 3 * n, 3 * n, (3 if version == 2 else 4) * n, 3 * ((degree + 1) ** 2 - 1) * n]


def _checked(path: Path, header: tuple, versions: tuple[int, ...]) -> tuple:
    magic, version, _, degree, bits = header[:5]
    if magic != MAGIC:
        raise InputError(f"{path} is not an SPZ file: no 'NGSP' at its start")
    if version not in versions:
        raise InputError(f"{path} is SPZ version {version}; versions 2, 3 and 4 can be read")
    if degree > 3 or bits > 24:
        raise InputError(f"{path} has a damaged SPZ header: SH degree {degree}, {bits} fractional bits")
    return header


def _unpack_gzip(path: Path, data: bytes) -> tuple[tuple, bytes]:
    """(header fields, streams); never inflates more than the header says."""
    try:
        inflate = zlib.decompressobj(wbits=31)
        head = inflate.decompress(data, HEADER.size)
        if len(head) < HEADER.size:
            raise InputError(f"{path} is not an SPZ file or is cut short: no header")
        header = _checked(path, HEADER.unpack(head), (2, 3))
        size = sum(_stream_sizes(header[2], header[3], header[1]))
        if size > MAX_RATIO * len(data):
            raise InputError(f"{path} claims {header[2]} splats, far more than its {len(data)} bytes can hold")
        body = inflate.decompress(inflate.unconsumed_tail, size + 1)
    except zlib.error as error:
        raise InputError(f"{path} is not an SPZ file or is damaged: {error}") from error
    if len(body) != size:
        raise InputError(f"{path} is cut short or damaged: {header[2]} splats need {size} bytes, {len(body)} are there")
    return header, body


def _unpack_v4(path: Path, data: bytes) -> tuple[tuple, bytes]:
    """v4: bare 32-byte header (streams u8 at 15, offset of the size table u32 at 16), sizes (u64, u64), zstd frames."""
    if len(data) < 32:
        raise InputError(f"{path} is cut short: no SPZ header")
    header = _checked(path, HEADER.unpack_from(data), (4,))
    zstd = _zstandard(path)
    sizes = [size for size in _stream_sizes(header[2], header[3], 4) if size]
    count, table = data[15], struct.unpack_from("<I", data, 16)[0]
    at = table + 16 * count
    if count < len(sizes) or at > len(data):
        raise InputError(f"{path} has a damaged SPZ header: {count} streams, wanted {len(sizes)}")
    streams = []
    for i, wanted in enumerate(sizes):
        packed, size = struct.unpack_from("<QQ", data, table + 16 * i)
        if size != wanted or at + packed > len(data):
            raise InputError(
                f"{path} is cut short or damaged: stream {i} of {count} does not fit the {header[2]} splats"
            )
        try:
            frame = data[at : at + packed]
            if zstd.frame_content_size(frame) not in (size, -1):
                raise InputError(f"{path} is damaged: stream {i} unpacks to another size than its table says")
            streams.append(zstd.ZstdDecompressor().decompress(frame, max_output_size=size))
        except zstd.ZstdError as error:
            raise InputError(f"{path} is damaged: stream {i}: {error}") from error
        if len(streams[-1]) != size:
            raise InputError(f"{path} is damaged: stream {i} unpacks to {len(streams[-1])} bytes, wanted {size}")
        at += packed
    return header, b"".join(streams)


def _zstandard(path: Path) -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise InputError(
            f"{path} is SPZ version 4, which needs the package 'zstandard': pip install zstandard"
        ) from error
    return zstandard


def _fractional_bits(path: Path, means: np.ndarray) -> int:
    """As many as keep the farthest splat within 24 bits."""
    reach = float(np.abs(means).max())
    bits = min(FRACTIONAL_BITS, int(np.floor(np.log2((2**23 - 1) / max(reach, 1e-30)))))
    if bits < 0:
        raise InputError(f"cannot write {path}: splats lie {reach:.3g} from the origin, SPZ reaches {2**23 - 1}")
    return bits


def _fixed24(data: np.ndarray) -> np.ndarray:
    b = data.reshape(-1, 3).astype(np.int32)
    return ((b[:, 0] | b[:, 1] << 8 | b[:, 2] << 16) << 8 >> 8).astype(np.float32)


def _pack_fixed24(values: np.ndarray, bits: int) -> bytes:
    fixed = np.rint(values.astype(np.float64) * 2.0**bits).astype("<i4").reshape(-1, 1)
    return fixed.view(np.uint8)[:, :3].tobytes()


def _quats_v2(data: np.ndarray) -> np.ndarray:
    xyz = data.reshape(-1, 3) / np.float32(127.5) - 1
    w = np.sqrt(np.maximum(0, 1 - np.square(xyz).sum(1, keepdims=True)))
    return np.concatenate([w, xyz], 1)


def _quats_v3(data: np.ndarray) -> np.ndarray:
    words = np.ascontiguousarray(data).view("<u4")
    fields = np.stack([words >> 20, words >> 10, words], 1)
    rest = (fields & 511) * np.float32(0.5**0.5 / 511)
    xyzw = largest_from_rest((words >> 30).astype(np.intp), np.where(fields & 512, -rest, rest))
    return xyzw[:, [3, 0, 1, 2]]


def _pack_quats_v3(quats: np.ndarray) -> bytes:
    largest, rest = rest_of_largest(unit_quaternions(quats)[:, [1, 2, 3, 0]])
    fields = np.rint(np.abs(rest) * (511 * 2**0.5)).clip(0, 511).astype("<u4") | (rest < 0).astype("<u4") << 9
    return (
        (largest.astype("<u4") << 30 | fields[:, 0] << 20 | fields[:, 1] << 10 | fields[:, 2]).astype("<u4").tobytes()
    )


def _pack_sh(rest: np.ndarray) -> bytes:
    steps = np.where(np.arange(rest.shape[1]) < 3, *SH_STEPS)[:, None]
    values = rest * SH_SIGNS[: rest.shape[1], None] * 128 + 128
    return _bytes(np.rint(values / steps) * steps)


def _bytes(values: np.ndarray) -> bytes:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8).tobytes()
