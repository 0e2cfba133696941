"""What lies at a path, and why we think so."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import InputError
from .colmap import model_folders, places_searched
from .photos import VIDEO_ENDINGS, list_photos, photo_folder
from .transforms import transforms_files

KINDS = ("colmap", "transforms", "photos")


def detect(path: Path) -> tuple[str, str]:
    """(kind, reason). transforms.json before a COLMAP model before bare photos; else an InputError lists them all."""
    if not path.exists():
        near = _near(path)
        raise InputError(f"data.path={path} does not exist{near}; give a capture folder or a transforms.json")
    if path.is_file():
        return _detect_file(path)
    if files := transforms_files(path):
        return "transforms", f"found {', '.join(p.name for p in files.values())}"
    if folders := model_folders(path):
        where = folders[0].relative_to(path).as_posix()
        return "colmap", f"found a COLMAP model in {path.name if where == '.' else where}"
    folder = photo_folder(path)
    photos, facts = list_photos(folder)
    if photos:
        where = "" if folder == path else f" in {folder.name}/"
        return "photos", f"found {len(photos)} photos{where} and no poses"
    reason = "; ".join(f.text for f in facts) or "the folder is empty"
    raise InputError(
        f"no capture in {path} ({reason}): sought transforms.json, transforms_train.json, a COLMAP model "
        f"({places_searched(path)}) and photos (also in images/, input/); set data.path"
    )


def _detect_file(path: Path) -> tuple[str, str]:
    ending = path.suffix.lower()
    if ending == ".json":
        try:
            document = json.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as e:
            raise InputError(f"{path} is not readable JSON: {e}") from None
        if isinstance(document, dict) and "frames" in document:
            return "transforms", "the file lists frames"
        raise InputError(
            f"{path} has no 'frames': not a transforms.json; wanted a file of nerfstudio, instant-ngp or Blender"
        )
    if ending in VIDEO_ENDINGS:
        raise InputError(
            f"{path} is a video, which is not read; extract frames into a folder "
            f"(ffmpeg -i {path.name} -r 2 frames/%04d.jpg) and give that as data.path"
        )
    raise InputError(
        f"data.path={path} is a single {ending or 'unnamed'} file; wanted a folder of photos, a capture "
        "folder, a zip of one or a transforms.json"
    )


def _near(path: Path) -> str:
    """The nearest existing parent, and what it holds: a mistyped name is seen at a glance."""
    parent = next((p for p in path.parents if p.is_dir()), None)
    if parent is None:
        return ""
    names = sorted(p.name for p in parent.iterdir() if not p.name.startswith("."))[:8]
    return f" ({parent} holds {', '.join(names) or 'nothing'})"
