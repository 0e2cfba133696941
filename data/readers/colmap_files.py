"""COLMAP's cameras, images and points3D files, binary and text (colmap.github.io/format.html), bounds-checked.

rigs and frames files of newer versions may lie beside; images files keep each image's own world-to-camera pose.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..lenses import MODELS, Lens
from ..scene import Points

_BY_ID = {m.id: name for name, m in MODELS.items()}


@dataclass(frozen=True)
class PosedImage:
    """One row of the images file. quaternion w, x, y, z and translation of world-to-camera, as stored."""

    id: int
    name: str
    camera_id: int
    quaternion: tuple[float, float, float, float]
    translation: tuple[float, float, float]
    observations: int = 0

    @property
    def world_to_camera(self) -> np.ndarray:
        """[4, 4] float64; NaN where the quaternion is zero."""
        m = np.eye(4)
        m[:3, :3] = rotation_from_quaternion(self.quaternion)
        m[:3, 3] = self.translation
        return m


def rotation_from_quaternion(wxyz: tuple[float, float, float, float]) -> np.ndarray:
    """[3, 3] of a quaternion of any length."""
    q = np.asarray(wxyz, np.float64)
    with np.errstate(all="ignore"):
        w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def find_file(folder: Path, stem: str) -> Path | None:
    """`stem`.bin before `stem`.txt."""
    return next((p for p in (folder / f"{stem}.bin", folder / f"{stem}.txt") if p.is_file()), None)


def read_cameras(path: Path) -> dict[int, Lens]:
    """Lenses by camera id. Raises InputError."""
    return _cameras_bin(path) if path.suffix == ".bin" else _cameras_txt(path)


def read_images(path: Path) -> list[PosedImage]:
    """In file order. Raises InputError."""
    return _images_bin(path) if path.suffix == ".bin" else _images_txt(path)


def read_points(path: Path) -> tuple[Points, np.ndarray]:
    """Points and the track length of each, [P] int64. Raises InputError."""
    return _points_bin(path) if path.suffix == ".bin" else _points_txt(path)


class _Bytes:
    """A cursor over a file that turns every overrun into one clear error."""

    def __init__(self, path: Path):
        self.path, self.data, self.at = path, path.read_bytes(), 0

    def take(self, layout: struct.Struct) -> tuple:
        try:
            values = layout.unpack_from(self.data, self.at)
        except struct.error:
            raise self.damaged() from None
        self.at += layout.size
        return values

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise self.damaged()

    def text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise self.damaged()
        raw, self.at = self.data[self.at : end], end + 1
        return raw.decode("utf-8", errors="surrogateescape")

    def damaged(self) -> InputError:
        return InputError(
            f"{self.path} ends too early ({len(self.data)} bytes): the file is damaged or not COLMAP's; export it again"
        )


_COUNT, _CAMERA, _IMAGE, _POINT = (struct.Struct(s) for s in ("<Q", "<IiQQ", "<I7dI", "<Q3d3BdQ"))


def _cameras_bin(path: Path) -> dict[int, Lens]:
    f, cameras = _Bytes(path), {}
    for _ in range(f.take(_COUNT)[0]):
        camera, model, width, height = f.take(_CAMERA)
        if model not in _BY_ID:
            raise InputError(
                f"{path}: camera {camera} has the unknown model number {model}; known are {sorted(_BY_ID)}"
            )
        name = _BY_ID[model]
        params = f.take(struct.Struct(f"<{len(MODELS[name].names)}d"))
        cameras[camera] = Lens(name, params, width, height)
    return cameras


def _images_bin(path: Path) -> list[PosedImage]:
    f, images = _Bytes(path), []
    for _ in range(f.take(_COUNT)[0]):
        image, *pose, camera = f.take(_IMAGE)
        name = f.text()
        observed = f.take(_COUNT)[0]
        f.skip(24 * observed)
        w, x, y, z, *t = pose
        images.append(PosedImage(image, name, camera, (w, x, y, z), (t[0], t[1], t[2]), observed))
    return images


def _points_bin(path: Path) -> tuple[Points, np.ndarray]:
    f = _Bytes(path)
    count = f.take(_COUNT)[0]
    if count * _POINT.size > len(f.data):
        raise f.damaged()
    xyz, rgb = np.empty((count, 3)), np.empty((count, 3), np.uint8)
    error, track = np.empty(count), np.empty(count, np.int64)
    for i in range(count):
        _, *xyz[i], r, g, b, error[i], length = f.take(_POINT)
        rgb[i], track[i] = (r, g, b), length
        f.skip(8 * length)
    return Points(xyz, rgb, error), track


def _rows(path: Path) -> list[str]:
    """Lines without comments; blank ones are kept."""
    text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    return [line for line in (raw.strip() for raw in text.splitlines()) if not line.startswith("#")]


def _bad_row(path: Path, row: str, wanted: str) -> InputError:
    return InputError(f"{path}: cannot read the line {row[:80]!r}; wanted {wanted}")


def _cameras_txt(path: Path) -> dict[int, Lens]:
    cameras = {}
    for row in filter(None, _rows(path)):
        try:
            camera, model, width, height, *params = row.split()
            size = int(float(width)), int(float(height))
            cameras[int(camera)] = Lens(model, tuple(map(float, params)), *size)
        except InputError as e:
            raise InputError(f"{path}: {e}") from None
        except ValueError:
            raise _bad_row(path, row, "CAMERA_ID MODEL WIDTH HEIGHT PARAMS...") from None
    return cameras


def _images_txt(path: Path) -> list[PosedImage]:
    images, rows = [], _rows(path)
    position = 0
    while position < len(rows):
        row = rows[position]
        position += 1
        if not row:
            continue
        try:
            image, w, x, y, z, a, b, c, camera, name = row.split(maxsplit=9)
            pose = (float(w), float(x), float(y), float(z)), (float(a), float(b), float(c))
            ids = int(image), int(camera)
        except ValueError:
            raise _bad_row(path, row, "IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME") from None
        observed = 0
        if position < len(rows) and (count := _observations(rows[position])) is not None:
            observed, position = count, position + 1
        images.append(PosedImage(ids[0], name, ids[1], *pose, observed))
    return images


_NUMBERS = re.compile(r"[-+0-9.eE\sinfaINFA]*")


def _observations(row: str) -> int | None:
    """How many X Y POINT3D_ID triples a line holds, or None if it is no such line: some writers leave it out."""
    if not _NUMBERS.fullmatch(row):
        return None
    count = len(row.split())
    return count // 3 if count % 3 == 0 else None


def _points_txt(path: Path) -> tuple[Points, np.ndarray]:
    rows = list(filter(None, _rows(path)))
    table, track = np.empty((len(rows), 7)), np.empty(len(rows), np.int64)
    for i, row in enumerate(rows):
        try:
            _, *values = row.split()
            table[i] = [float(v) for v in values[:7]]
            track[i] = len(values[7:]) // 2
        except ValueError:
            raise _bad_row(path, row, "POINT3D_ID X Y Z R G B ERROR TRACK...") from None
    rgb = np.clip(np.nan_to_num(table[:, 3:6]), 0, 255).astype(np.uint8)
    return Points(table[:, :3].copy(), rgb, table[:, 6].copy()), track
