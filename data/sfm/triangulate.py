"""Sparse points for a capture that has poses but no points: features matched between its photos, triangulated with the poses fixed."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..images.probe import in_threads
from ..readers.colmap_files import read_points
from ..scene import Pixels, Points, View
from ..user_cache import cache_dir
from .run import Progress, SfmOptions, run_child
from .scratch import scratch_folder

_VERSION = 1
WORST_ERROR = 2.0  # pixels; points that fit their photos worse are mismatches


def triangulate(
    views: Sequence[View],
    pixels: Callable[[int], Pixels],
    options: SfmOptions,
    threads: int = -1,
    progress: Progress | None = None,
) -> Points:
    """Points in the world of the views, possibly none. The undistorted pictures of the views are what is matched.

    Kept in the user's cache by the content of pictures and poses. Raises InputError where pycolmap is not usable.
    """
    place = cache_dir("sfm") / f"points-{_fingerprint(views, pixels, options)}.npz"
    if (known := _load(place)) is not None:
        return known
    with scratch_folder(place.parent) as scratch:
        points = _compute(views, pixels, options, threads, progress or (lambda stage, done, total: None), scratch)
        ready = scratch / "ready.npz"
        np.savez(ready, xyz=points.xyz, rgb=points.rgb, error=points.error if points.error is not None else np.zeros(0))
        ready.replace(place)
    return points


def _compute(
    views: Sequence[View],
    pixels: Callable[[int], Pixels],
    options: SfmOptions,
    threads: int,
    progress: Progress,
    scratch: Path,
) -> Points:
    images, output = scratch / "images", scratch / "models"
    images.mkdir()
    output.mkdir()
    names = [f"{number:06d}.png" for number in range(len(views))]
    in_threads(lambda i: _write(images / names[i], pixels(i)), range(len(views)))
    groups: dict[tuple, list[str]] = {}
    for name, view in zip(names, views, strict=True):
        K = view.camera.K
        groups.setdefault((K[0, 0], K[1, 1], K[0, 2], K[1, 2], view.camera.width, view.camera.height), []).append(name)
    job = {
        "database": str(scratch / "database.db"),
        "images": str(images),
        "output": str(output),
        "groups": [{"names": mine, "pinhole": [float(x) for x in key[:4]]} for key, mine in groups.items()],
        "poses": {n: v.camera.world_to_camera[:3].tolist() for n, v in zip(names, views, strict=True)},
        "matcher": options.matcher_for(len(views)),
        "features": options.features,
        "overlap": options.overlap,
        "neighbours": options.neighbours,
        "threads": threads,
    }
    path = scratch / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    said = run_child(path, progress)
    points, _ = read_points(output / said["models"][0]["folder"] / "points3D.bin")
    good = np.isfinite(points.xyz).all(1)
    if points.error is not None:
        good &= points.error <= WORST_ERROR
    return Points(points.xyz[good], points.rgb[good], None if points.error is None else points.error[good])


def _write(path: Path, pixels: Pixels) -> None:
    """What the mask leaves out is black, so that no feature of it is matched."""
    from PIL import Image

    rgb = pixels.rgb if pixels.mask is None else pixels.rgb * pixels.mask[..., None]
    Image.fromarray(np.ascontiguousarray(rgb)).save(path, compress_level=1)


def _load(place: Path) -> Points | None:
    try:
        with np.load(place) as kept:
            return Points(kept["xyz"], kept["rgb"], kept["error"] if len(kept["error"]) else None)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # absent or damaged: made again
        return None


def _fingerprint(views: Sequence[View], pixels: Callable[[int], Pixels], options: SfmOptions) -> str:
    total = hashlib.blake2b(repr((_VERSION, options)).encode(), digest_size=20)
    for i, view in enumerate(views):
        picture = pixels(i)
        total.update(view.camera.K.tobytes() + view.camera.world_to_camera.tobytes())
        total.update(np.ascontiguousarray(picture.rgb).data)
        if picture.mask is not None:
            total.update(np.ascontiguousarray(picture.mask).data)
    return total.hexdigest()
