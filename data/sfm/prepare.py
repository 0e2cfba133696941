"""Photos made ready for feature extraction: upright, 8 bit, of bounded size, grouped by the lens that took them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..images.decode import decode, premultiply, turn
from ..images.exif import Exif, read_exif
from ..images.probe import Probe, in_threads
from ..images.resize import scaled_size, shrink


@dataclass(frozen=True)
class Photo:
    """A photo that decodes. `name` is its path relative to the capture."""

    name: str
    path: Path
    probe: Probe


@dataclass(frozen=True)
class Group:
    """Photos that share one camera. names: of the copies; focal in their pixels, or None where EXIF is silent."""

    names: tuple[str, ...]
    width: int
    height: int
    focal: float | None


def working_copies(photos: Sequence[Photo], folder: Path, longest: int) -> tuple[dict[str, str], list[Group]]:
    """Write copies into `folder`; (working name -> photo name, groups).

    Photos share a camera when size, camera make and model, and focal lengths agree; without EXIF, when the sizes agree.
    """
    exifs = in_threads(lambda p: read_exif(p.path), photos)
    keys = [_key(p, e) for p, e in zip(photos, exifs, strict=True)]
    working = [f"{number:06d}.jpg" for number in range(len(photos))]
    sizes = in_threads(lambda i: _copy(photos[i], folder / working[i], longest), range(len(photos)))
    groups = []
    for key in dict.fromkeys(keys):
        mine = [i for i, k in enumerate(keys) if k == key]
        width, height = sizes[mine[0]]
        groups.append(Group(tuple(working[i] for i in mine), width, height, exifs[mine[0]].focal_px(width, height)))
    return dict(zip(working, (p.name for p in photos), strict=True)), groups


def _key(photo: Photo, exif: Exif) -> tuple:
    return (photo.probe.upright_size, exif.make, exif.model, exif.focal, exif.focal_35mm)


def _copy(photo: Photo, target: Path, longest: int) -> tuple[int, int]:
    """Returns the copy's width and height. A plain JPEG of fitting size is copied byte by byte."""
    from PIL import Image

    width, height = photo.probe.upright_size
    factor = max(1.0, max(width, height) / longest)
    size = scaled_size(width, height, factor)
    plain = photo.path.suffix.lower() in (".jpg", ".jpeg") and photo.probe.mode in ("RGB", "L")
    if plain and factor == 1.0 and photo.probe.orientation == 1:
        shutil.copyfile(photo.path, target)
        return size
    rgb, alpha = decode(photo.path)
    if alpha is not None:
        rgb = premultiply(rgb, alpha)
    image = shrink(turn(rgb, photo.probe.orientation), *size)
    Image.fromarray(np.ascontiguousarray(image)).save(target, "JPEG", quality=95, subsampling=0)
    return size
