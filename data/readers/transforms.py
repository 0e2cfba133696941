"""transforms.json in the flavours of instant-ngp, nerfstudio and Blender's NeRF-synthetic.

Poses are camera-to-world in OpenGL axes (x right, y up, z backward); here they become world-to-camera in OpenCV axes.
The
world itself is not touched: `applied_transform` is what nerfstudio did before it wrote the file, so poses and points
agree.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ..errors import InputError
from ..images.probe import is_image
from ..scene import Fact, Points
from .intrinsics import read_intrinsics
from .resolve import Resolver
from .stated import NO_POINTS, Capture, Shot, some

SPLITS = ("train", "val", "test")
_GL_TO_CV = np.diag([1.0, -1.0, -1.0, 1.0])
_POINT_FILES = ("sparse_pc.ply", "init.ply", "points3D.ply", "points3d.ply")


def transforms_files(path: Path) -> dict[str, Path]:
    """What there is at a folder or file: {'all': transforms.json} and/or {'train': transforms_train.json, ...}."""
    if path.is_file():
        return {"all": path}
    names = {"all": path / "transforms.json"} | {s: path / f"transforms_{s}.json" for s in SPLITS}
    return {k: p for k, p in names.items() if p.is_file()}


def read_transforms(path: Path, image_path: Path | None = None) -> Capture:
    """Read a capture folder or one json file. Raises InputError when it is none or lists nothing."""
    files = transforms_files(path)
    if not files:
        raise InputError(f"no transforms.json, transforms_train.json or transforms_test.json in {path}; set data.path")
    root = path.parent if path.is_file() else path
    facts: list[Fact] = []
    used = _choose(files, facts)
    documents = {split: _load(file) for split, file in used.items()}
    resolver = Resolver(root, image_path)
    shots: dict[str, Shot] = {}
    repeated: list[str] = []
    for split, document in documents.items():
        for shot in _shots(document, used[split], split, resolver, facts):
            if shot.name in shots:
                repeated.append(shot.name)
            else:
                shots[shot.name] = shot
    if not shots:
        raise InputError(f"{', '.join(str(f) for f in used.values())}: no frames; nothing to reconstruct from")
    if repeated:
        facts.append(
            Fact("images", f"{len(repeated)} listed more than once, the first taken: {some(repeated)}", "warning")
        )
    facts += resolver.facts()
    listed = {s.path for s in shots.values()}
    unposed = [
        p.name for f in sorted(resolver.folders_used) for p in sorted(f.iterdir()) if is_image(p) and p not in listed
    ]
    if unposed:
        facts.append(
            Fact("unposed", f"{len(unposed)} images in the same folders have no pose, ignored: {some(unposed)}")
        )
    points = _points(root, documents, facts)
    folders = dict.fromkeys((root, *(f for f in resolver.folders_used), *(f.parent for f in resolver.folders_used)))
    name = root.resolve() if not root.name else root
    ordered = tuple(shots[n] for n in sorted(shots))
    return Capture("transforms", name, ordered, points, tuple(facts), folders=tuple(folders))


def _choose(files: dict[str, Path], facts: list[Fact]) -> dict[str, Path]:
    """One transforms.json wins over split files; of these test is held out, val only where there is no test."""
    splits = {s: files[s] for s in SPLITS if s in files}
    if "all" in files:
        if splits:
            others = ", ".join(p.name for p in splits.values())
            facts.append(Fact("files", f"took {files['all'].name}; {others} beside it not read", "warning"))
        return {"all": files["all"]}
    if "test" in splits and "val" in splits:
        facts.append(Fact("files", f"{splits['val'].name} not used: {splits['test'].name} holds the held-out views"))
        del splits["val"]
    if "train" not in splits:
        name = next(iter(splits.values())).name
        facts.append(Fact("files", f"only {name} is there: its frames train, every n-th is held out", "warning"))
        return {"all": next(iter(splits.values()))}
    return splits


def _load(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as e:
        raise InputError(f"{file} is not readable JSON: {e}") from None
    if not isinstance(document, dict) or not isinstance(document.get("frames"), list):
        raise InputError(f"{file} has no list 'frames': not a transforms.json of nerfstudio, instant-ngp or Blender")
    if not document["frames"]:
        raise InputError(f"{file}: 'frames' is empty; nothing to reconstruct from")
    return document


def _shots(document: dict[str, Any], file: Path, split: str, resolver: Resolver, facts: list[Fact]) -> list[Shot]:
    held = _named_splits(document) if split == "all" else {}
    shots, bad = [], []
    for number, frame in enumerate(document["frames"]):
        listed = frame.get("file_path") if isinstance(frame, dict) else None
        if not isinstance(listed, str) or not listed:
            bad.append(f"frame {number}")
            continue
        matrix = _matrix(frame.get("transform_matrix"))
        if matrix is None:
            bad.append(listed)
            continue
        name, path = resolver.image(file.parent, listed)
        mask = frame.get("mask_path")
        shots.append(
            Shot(
                name,
                path,
                read_intrinsics(frame, document, file),
                world_to_camera(matrix),
                resolver.beside(file.parent, mask) if isinstance(mask, str) else None,
                held.get(PurePosixPath(listed).as_posix()) if split == "all" else split != "train",
                float(frame["time"]) if isinstance(frame.get("time"), int | float) else None,
            )
        )
    if bad:
        text = f"{len(bad)} frames of {file.name} without file_path or a 4x4 transform_matrix, skipped: {some(bad)}"
        facts.append(Fact("poses", text, "warning"))
    if any(isinstance(f, dict) and "depth_file_path" in f for f in document["frames"]):
        facts.append(Fact("depth", "depth_file_path is listed; depth is not used"))
    if document.get("applied_transform") is not None:
        text = "the file records an applied_transform: poses, points and exports lie in the frame after it"
        facts.append(Fact("frame", text))
    return shots


def _named_splits(document: dict[str, Any]) -> dict[str, bool]:
    """nerfstudio's train_/val_/test_filenames: which frames are held out."""
    listed = {s: document.get(f"{s}_filenames") for s in SPLITS}
    held = listed["test"] or listed["val"]
    if not isinstance(held, list) or not held:
        return {}
    splits = {PurePosixPath(str(n)).as_posix(): True for n in held}
    for name in listed["train"] or []:
        splits.setdefault(PurePosixPath(str(name)).as_posix(), False)
    return splits


def _matrix(rows: Any) -> np.ndarray | None:
    """[4, 4] float64 from 3 or 4 rows of 4 numbers, else None."""
    try:
        m = np.asarray(rows, np.float64)
    except (ValueError, TypeError):
        return None
    if m.shape == (3, 4):
        m = np.vstack([m, [0.0, 0.0, 0.0, 1.0]])
    return m if m.shape == (4, 4) else None


def world_to_camera(camera_to_world: np.ndarray) -> np.ndarray:
    """OpenGL camera-to-world [4, 4] -> OpenCV world-to-camera [4, 4]; scale or shear stay for the pose check.

    Singular and non-finite input gives NaN.
    """
    m = camera_to_world @ _GL_TO_CV
    out = np.eye(4)
    try:
        inverse = np.linalg.inv(m[:3, :3])
    except np.linalg.LinAlgError:
        return np.full((4, 4), np.nan)
    out[:3, :3] = inverse
    out[:3, 3] = -inverse @ m[:3, 3]
    return out


def _points(root: Path, documents: dict[str, dict[str, Any]], facts: list[Fact]) -> Points:
    named = next((d["ply_file_path"] for d in documents.values() if isinstance(d.get("ply_file_path"), str)), None)
    candidates = [root / named] if named else [root / n for n in _POINT_FILES]
    file = next((c for c in candidates if c.is_file()), None)
    if file is None:
        if named:
            facts.append(Fact("points", f"ply_file_path {named} not found", "warning"))
        return NO_POINTS
    from ..formats.ply_points import read_points_ply

    xyz, rgb = read_points_ply(file)
    facts.append(Fact("points", f"{len(xyz)} points from {file.name}"))
    return Points(xyz, rgb)
