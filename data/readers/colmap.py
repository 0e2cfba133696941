"""A COLMAP reconstruction: where its files and photos lie, and which of several sub-models to take."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import InputError
from ..images.probe import is_image
from ..scene import Fact
from .colmap_files import PosedImage, find_file, read_cameras, read_images, read_points
from .stated import NO_POINTS, Capture, KnownLens, Shot, some

_PLACES = ("sparse", "", "colmap/sparse", "dense/sparse", "undistorted/sparse")
_IMAGE_PLACES = ("images", "input", "image", "rgb", "")


def model_folders(path: Path) -> list[Path]:
    """Folders at or below `path` that hold a cameras or images file, in the order they are searched."""
    found: list[Path] = []
    for place in _PLACES:
        folder = path / place
        numbered = sorted((p for p in folder.glob("*") if p.is_dir() and p.name.isdigit()), key=lambda p: int(p.name))
        for candidate in (*numbered, folder):
            if candidate.is_dir() and (find_file(candidate, "cameras") or find_file(candidate, "images")):
                found.append(candidate)
        if found:
            break
    return found


def places_searched(path: Path) -> str:
    return ", ".join(f"{path / p / '0' if p else path}" for p in _PLACES)


def read_colmap(path: Path, image_path: Path | None = None) -> Capture:
    """Read the largest sub-model at `path` (a capture folder, its sparse/ or sparse/0 itself).

    image_path  the photos' folder, if not images/ beside the model
    Raises InputError when files are absent or damaged.
    """
    folders = model_folders(path)
    if not folders:
        raise InputError(
            f"no COLMAP model at {path}: searched {places_searched(path)} for cameras.bin/.txt; set data.path"
        )
    facts: list[Fact] = []
    model, images = _largest(folders, facts)
    cameras = read_cameras(_required(model, "cameras"))
    root = _root(path, model)
    folder, present = _image_folder(path, model, root, images, image_path, facts)
    shots, homeless = [], []
    for image in sorted(images, key=lambda i: i.name):
        lens = cameras.get(image.camera_id)
        if lens is None:
            homeless.append(image.name)
            continue
        name = image.name.replace("\\", "/")
        file = folder / name
        shots.append(Shot(name, file if file.is_file() else None, KnownLens(lens), image.world_to_camera))
    if homeless:
        text = f"{len(homeless)} images name a camera that cameras does not list, skipped: {some(homeless)}"
        facts.append(Fact("cameras", text, "warning"))
    unposed = sorted(present - {s.name for s in shots})
    if unposed:
        facts.append(
            Fact("unposed", f"{len(unposed)} images in {folder.name or folder} have no pose, ignored: {some(unposed)}")
        )
    points = NO_POINTS
    if file := find_file(model, "points3D"):
        points, track = read_points(file)
        if len(points):
            text = f"{len(points)} points, {int(track.sum())} observations, mean error {_mean(points.error):.3f} px"
            facts.append(Fact("sfm", text))
    return Capture("colmap", root, tuple(shots), points, tuple(facts), folders=_unique(folder.parent, root, folder))


def _mean(error: np.ndarray | None) -> float:
    return float("nan") if error is None else float(np.mean(error))


def _unique(*folders: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(folders))


def _required(model: Path, stem: str) -> Path:
    file = find_file(model, stem)
    if file is None:
        raise InputError(f"COLMAP model {model} has no {stem}.bin or {stem}.txt; export the whole model there")
    return file


def _largest(folders: list[Path], facts: list[Fact]) -> tuple[Path, list[PosedImage]]:
    if len(folders) == 1:
        return folders[0], read_images(_required(folders[0], "images"))
    complete = [f for f in folders if find_file(f, "cameras") and find_file(f, "images")]
    if not complete:
        _required(folders[0], "images")
        _required(folders[0], "cameras")
    models = [(f, read_images(_required(f, "images"))) for f in complete]
    best = max(models, key=lambda m: len(m[1]))  # the first of equals
    counts = ", ".join(f"{f.name}: {len(images)}" for f, images in models)
    if len(models) > 1:
        text = (
            f"{len(models)} sub-models (images {counts}); took {best[0].name}, the largest; data.path can name another"
        )
        facts.append(Fact("models", text, "warning"))
    return best


def _root(path: Path, model: Path) -> Path:
    """The capture's folder: above sparse/0, whichever of them was named."""
    folder = path
    if folder == model and folder.name.isdigit():
        folder = folder.parent
    if folder.name in ("sparse", "colmap") and folder.parent != folder:
        folder = folder.parent
    return folder.resolve() if not folder.name else folder


def _image_folder(
    path: Path, model: Path, root: Path, images: list[PosedImage], given: Path | None, facts: list[Fact]
) -> tuple[Path, set[str]]:
    """The folder under which most of the listed names exist, and all images in it."""
    if given is not None and not given.is_dir():
        raise InputError(f"data.image_path={given} is not a folder")
    bases = _unique(path, root, model, model.parent, model.parent.parent)
    candidates = [given] if given is not None else list(_unique(*(b / p for b in bases for p in _IMAGE_PLACES)))
    candidates = [c for c in candidates if c.is_dir()]
    names = [i.name.replace("\\", "/") for i in images]
    counts = [sum((c / n).is_file() for n in names) for c in candidates]
    best = max(range(len(candidates)), key=lambda i: counts[i], default=None)
    if best is None or counts[best] == 0:
        searched = ", ".join(str(c) for c in candidates) or str(path)
        facts.append(
            Fact("images", f"none of the {len(names)} listed images was found; searched {searched}", "warning")
        )
        return (candidates[0] if candidates else root), set()
    folder = candidates[best]
    if folder in (model, path, root) and folder.name and not any(n.count("/") for n in names):
        files = [p for p in folder.iterdir() if is_image(p)]
    else:
        files = [p for p in folder.rglob("*") if is_image(p)]
    return folder, {p.relative_to(folder).as_posix() for p in files}
