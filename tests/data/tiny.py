"""A tiny capture with known cameras, written in any format by writers that share no code with the readers."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

IDS = {
    "SIMPLE_PINHOLE": 0,
    "PINHOLE": 1,
    "SIMPLE_RADIAL": 2,
    "RADIAL": 3,
    "OPENCV": 4,
    "OPENCV_FISHEYE": 5,
    "FULL_OPENCV": 6,
}
GL = np.diag([1.0, -1.0, -1.0, 1.0])


@dataclass
class Tiny:
    """`poses`: camera-to-world, OpenCV axes, [N, 4, 4]. Every image is filled with the colour (10 * i, 0, 200)."""

    names: list[str]
    poses: np.ndarray
    model: str = "PINHOLE"
    params: tuple[float, ...] = (70.0, 72.0, 33.0, 23.0)
    width: int = 64
    height: int = 48
    points: np.ndarray = field(default_factory=lambda: np.random.default_rng(1).uniform(-1, 1, (20, 3)))

    @property
    def world_to_camera(self) -> np.ndarray:
        return np.linalg.inv(self.poses)


def ring(count: int = 10, names: list[str] | None = None, offset=(0.0, 0.0, 0.0), **kwargs) -> Tiny:
    """Cameras on a circle of radius 4 that look at the centre of the points."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    for i, angle in enumerate(np.linspace(0, 2 * np.pi, count, endpoint=False)):
        center = np.array([4 * np.cos(angle), 4 * np.sin(angle), 1.0 + 0.1 * i])
        forward = -center / np.linalg.norm(center)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        poses[i, :3, :3] = np.stack([right, np.cross(forward, right), forward], axis=1)
        poses[i, :3, 3] = center + np.asarray(offset)
    tiny = Tiny(names or [f"{i:04d}.png" for i in range(count)], poses, **kwargs)
    tiny.points = tiny.points + np.asarray(offset)
    return tiny


def write_images(tiny: Tiny, folder: Path, skip: tuple[str, ...] = ()) -> None:
    for i, name in enumerate(tiny.names):
        if name in skip:
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (tiny.width, tiny.height), (10 * i, 0, 200)).save(folder / name)


def quaternion(R: np.ndarray) -> np.ndarray:
    """w, x, y, z of a rotation matrix, by its dominant eigenvector (Bar-Itzhack 2000)."""
    m = R
    K = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m.trace()],
        ]
    )
    _, vectors = np.linalg.eigh(K, UPLO="L")
    x, y, z, w = vectors[:, -1]
    return np.array([w, x, y, z])


def write_colmap(tiny: Tiny, folder: Path, text: bool = False, points: bool = True, observed: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    xyz = tiny.points if points else np.zeros((0, 3))
    rows = [
        (i + 1, *quaternion(w[:3, :3]), *w[:3, 3], 1, n)
        for i, (n, w) in enumerate(zip(tiny.names, tiny.world_to_camera, strict=True))
    ]
    if text:
        params = " ".join(repr(p) for p in tiny.params)
        (folder / "cameras.txt").write_text(f"# Camera list\n1 {tiny.model} {tiny.width} {tiny.height} {params}\n")
        lines = ["# Image list", "# more"]
        for row in rows:
            lines += [
                " ".join(repr(float(v)) if isinstance(v, np.floating) else str(v) for v in row),
                " ".join(["1.5 2.5 -1"] * observed),
            ]
        (folder / "images.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        lines = [f"{i + 1} {p[0]!r} {p[1]!r} {p[2]!r} 1 2 3 0.5 1 0 2 0" for i, p in enumerate(xyz.tolist())]
        (folder / "points3D.txt").write_text("\n".join(["# 3D point list", *lines]) + "\n")
        return
    head = struct.pack("<QIiQQ", 1, 1, IDS[tiny.model], tiny.width, tiny.height)
    (folder / "cameras.bin").write_bytes(head + struct.pack(f"<{len(tiny.params)}d", *tiny.params))
    out = struct.pack("<Q", len(rows))
    for i, *pose, camera, name in rows:
        out += struct.pack("<I7dI", i, *pose, camera) + name.encode() + b"\0"
        out += struct.pack("<Q", observed) + struct.pack("<ddq", 1.5, 2.5, -1) * observed
    (folder / "images.bin").write_bytes(out)
    out = struct.pack("<Q", len(xyz))
    for i, p in enumerate(xyz):
        out += struct.pack("<Q3d3Bd", i + 1, *p, 1, 2, 3, 0.5) + struct.pack("<Q4I", 2, 1, 0, 2, 0)
    (folder / "points3D.bin").write_bytes(out)


def frames(tiny: Tiny, names: list[str] | None = None) -> list[dict]:
    listed = names or [f"images/{n}" for n in tiny.names]
    return [{"file_path": n, "transform_matrix": (p @ GL).tolist()} for n, p in zip(listed, tiny.poses, strict=True)]


def intrinsics(tiny: Tiny) -> dict:
    fx, fy, cx, cy = tiny.params[:4]
    extra = dict(zip(("k1", "k2", "p1", "p2"), tiny.params[4:], strict=False))
    return {"fl_x": fx, "fl_y": fy, "cx": cx, "cy": cy, "w": tiny.width, "h": tiny.height, **extra}


def write_json(path: Path, document) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
