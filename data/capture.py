"""From a path to a Scene: detect, read, look into the images, decide, recentre, report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError
from .fitting import Fitted, fit_all
from .images.masks import MaskFinder, mask_folders
from .images.probe import Probe, in_threads, probe
from .images.resize import scaled_size
from .images.source import PhotoSource
from .images.undistort import rectify
from .normalise import share_in_front, world_frame
from .poses import moved, rigid
from .readers.archive import unpack
from .readers.colmap import read_colmap
from .readers.detect import KINDS, detect
from .readers.photos import read_photos
from .readers.stated import Capture, Shot, some
from .readers.transforms import read_transforms
from .report import (
    alpha_facts,
    camera_facts,
    exif_facts,
    mask_facts,
    point_facts,
    resolution_facts,
    split_facts,
)
from .scene import Camera, Fact, Points, Scene, View, every_nth
from .sfm.run import Progress, SfmOptions


def load_capture(
    path: str | Path,
    kind: str = "auto",
    downscale: float = 1,
    every: int = 8,
    strict: bool = False,
    image_path: str | Path | None = None,
    mask_path: str | Path | None = None,
    invert_masks: bool = False,
    min_views: int = 2,
    sfm: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Scene:
    """Read a capture. The arguments are the keys of the `data` config group.

    path          folder of a capture or of photos, a zip of one, or a transforms.json
    kind          auto, colmap, transforms or photos
    downscale     divides both sides of every image, after undistortion; 1 or more
    every         hold out every n-th view in name order, the first included, unless the capture splits itself; 0: none
    strict        missing or damaged images are an error instead of being skipped and counted
    image_path    folder of the images, where it is not beside the poses
    mask_path     folder of the masks, where it is not masks/ or mask/ beside the images
    invert_masks  false: white keeps; true: white drops
    min_views     fewer usable views than this are an error
    sfm           keys of `SfmOptions`, for photos without poses
    progress      called with (stage, done, total) while photos are being placed
    Images are not decoded here; each file is only opened. Raises InputError, one line, for input that cannot be read.
    """
    downscale, every = _number("downscale", downscale, 1.0), int(_number("every", every, 0))
    place, reason = Path(path).expanduser(), "as asked"
    if kind not in ("auto", *KINDS):
        raise InputError(f"data kind {kind!r} is unknown; wanted auto, {', '.join(KINDS)}")
    archive = place if place.suffix.lower() == ".zip" and place.is_file() else None
    if archive is not None:
        place = unpack(archive)
    if kind == "auto" or not place.exists():
        kind, reason = detect(place)
    images = Path(image_path).expanduser() if image_path else None
    capture = _read(place, kind, images, _sfm_options(sfm), strict, progress)
    capture = replace(capture, facts=(Fact("capture", f"{path} read as {kind} ({reason})"), *capture.facts))
    masks = Path(mask_path).expanduser() if mask_path else None
    if masks is not None and not masks.is_dir():
        raise InputError(f"data.mask_path={masks} is not a folder")
    scene = assemble(capture, downscale, every, strict, masks, invert_masks, min_views)
    return scene if archive is None else replace(scene, name=archive.stem)


def _number(key: str, value: Any, least: float) -> float:
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = math.nan
    if not (math.isfinite(result) and result >= least):
        raise InputError(f"data.{key}={value!r}: wanted a number of at least {least:g}")
    return result


def _sfm_options(sfm: Mapping[str, Any] | None) -> SfmOptions:
    try:
        return SfmOptions(**{str(k): v for k, v in (sfm or {}).items()})
    except TypeError:
        known = ", ".join(SfmOptions.__dataclass_fields__)
        raise InputError(f"data.sfm has keys {', '.join(map(str, sfm or {}))}; known are {known}") from None


def _read(
    path: Path, kind: str, images: Path | None, sfm: SfmOptions, strict: bool, progress: Progress | None
) -> Capture:
    if kind == "colmap":
        return read_colmap(path, images)
    if kind == "transforms":
        return read_transforms(path, images)
    return read_photos(path, images, sfm, strict, progress)


def assemble(
    capture: Capture,
    downscale: float = 1,
    every: int = 8,
    strict: bool = False,
    mask_path: Path | None = None,
    invert_masks: bool = False,
    min_views: int = 2,
) -> Scene:
    """What the files state -> a Scene in its own world frame, with the data report. Raises InputError."""
    facts = list(capture.facts)
    shots, probes = _usable(capture, strict, min_views, facts)
    fitted = fit_all(shots, probes, capture.upright)
    points = _finite(capture.points, facts)
    if len(points) and share_in_front(np.stack([s.world_to_camera for s in shots]), points.xyz) == 0.0:
        raise InputError(
            f"all {len(points)} points lie behind all {len(shots)} cameras of {capture.root}: the poses' axes or "
            "direction (camera-to-world for world-to-camera) are not those of this format"
        )
    centers = np.stack([-s.world_to_camera[:3, :3].T @ s.world_to_camera[:3, 3] for s in shots])
    frame = world_frame(centers, points.xyz)
    finder = MaskFinder(mask_folders(capture.folders, mask_path), [s.name for s in shots])
    views = tuple(
        _view(s, f, downscale, frame.scale, frame.origin, s.mask or finder.find(s.name), invert_masks)
        for s, f in zip(shots, fitted, strict=True)
    )
    facts += exif_facts(probes, fitted)
    facts += camera_facts([f.lens for f in fitted])
    facts += resolution_facts([f.lens for f in fitted], views, downscale, sum(f.rescaled for f in fitted))
    facts += alpha_facts(probes)
    facts += mask_facts(views, len(finder), invert_masks)
    points = replace(points, xyz=frame.to_world(points.xyz))
    facts += point_facts(points, views, frame)
    test, split = _split(shots, every)
    facts += split_facts(len(views), test, split)
    name = capture.root.name or capture.root.resolve().name or "scene"
    # A header may promise transparency that no pixel has; the first photo that has some settles it.
    see_through = any(p.alpha and v.image.load().alpha is not None for p, v in zip(probes, views, strict=True))
    return Scene(views, points, frame, test, name, capture.kind, see_through, tuple(facts))


def _usable(capture: Capture, strict: bool, min_views: int, facts: list[Fact]) -> tuple[list[Shot], list[Probe]]:
    """Shots whose image exists and opens and whose pose is one, rotation mended."""
    listed = capture.shots
    missing = [s.name for s in listed if s.path is None]
    if missing and (strict or len(missing) == len(listed)):
        raise InputError(
            f"{len(missing)} of {len(listed)} listed images are not on disk "
            f"({some(missing, len(missing) if strict else 3)}); "
            f"looked beside {capture.root}, set data.image_path to their folder"
            + (" or data.strict=false" if strict else "")
        )
    found = [s for s in listed if s.path is not None]
    probes = in_threads(lambda s: probe(s.path), found)  # pyright: ignore[reportArgumentType]
    broken = [f"{s.name} {p.problem}" for s, p in zip(found, probes, strict=True) if p.problem]
    if broken and (strict or len(broken) == len(found)):
        raise InputError(f"{len(broken)} of {len(found)} images are unusable: {some(broken, 20 if strict else 3)}")
    kept: list[tuple[Shot, Probe]] = []
    refused: dict[str, list[str]] = {}
    mended: dict[str, list[str]] = {}
    for shot, header in zip(found, probes, strict=True):
        if header.problem:
            continue
        pose, what = rigid(shot.world_to_camera)
        if pose is None:
            refused.setdefault(what, []).append(shot.name)
            continue
        if what:
            mended.setdefault(what, []).append(shot.name)
        kept.append((replace(shot, world_to_camera=pose), header))
    text = f"{len(listed)} listed, {len(found)} found, {len(kept)} used"
    if capture.kind != "photos":
        facts.insert(1, Fact("images", text))
    if missing:
        facts.insert(
            2,
            Fact(
                "missing",
                f"{len(missing)} of {len(listed)} listed images not on disk, skipped: {some(missing)}",
                "warning",
            ),
        )
    if broken:
        facts.append(Fact("broken", f"{len(broken)} images unusable, skipped: {some(broken)}", "warning"))
    for what, names in refused.items():
        facts.append(Fact("poses", f"{len(names)} poses are {what}, skipped: {some(names)}", "warning"))
    for what, names in mended.items():
        done = "held a scale, taken out" if what == "scaled" else "were no exact rotations, replaced by the nearest"
        facts.append(Fact("poses", f"{len(names)} poses {done}: {some(names)}", "warning"))
    if not kept and refused:
        reasons = ", ".join(f"{len(n)} {what}" for what, n in refused.items())
        raise InputError(f"no usable pose in {capture.root}: {reasons}; check the pose matrices of the capture")
    if len(kept) < min_views:
        raise InputError(
            f"{len(kept)} usable image{'s' * (len(kept) != 1)} in {capture.root} ({len(listed)} listed, "
            f"{len(found)} found): at least {min_views} with poses are needed; set data.path to a larger capture"
        )
    return [s for s, _ in kept], [p for _, p in kept]


def _finite(points: Points, facts: list[Fact]) -> Points:
    good = np.isfinite(points.xyz).all(axis=1)
    if good.all():
        return points
    facts.append(Fact("points", f"{int((~good).sum())} points with NaN or infinite coordinates left out", "warning"))
    return Points(points.xyz[good], points.rgb[good], None if points.error is None else points.error[good])


def _view(
    shot: Shot, fitted: Fitted, downscale: float, scale: float, origin: np.ndarray, mask: Path | None, invert: bool
) -> View:
    lens = fitted.lens
    width, height = scaled_size(lens.width, lens.height, downscale)
    pose = moved(shot.world_to_camera, scale, origin)
    camera = Camera(rectify(lens).K, lens.width, lens.height, pose).resized(width, height)
    assert shot.path is not None
    image = PhotoSource(shot.path, width, height, fitted.orientation, None if lens.is_pinhole else lens, mask, invert)
    return View(shot.name, camera, image, shot.time)


def _split(shots: list[Shot], every: int) -> tuple[tuple[int, ...], str]:
    """Held-out indices and where they come from: the capture's own split, unless it leaves nothing to train on."""
    held = tuple(i for i, s in enumerate(shots) if s.held_out)
    if held and len(held) < len(shots):
        return held, "by the capture's own split"
    if len(shots) < 3:
        return (), "too few views to hold any out"
    if every == 1:
        raise InputError(
            "data.every=1 would hold out every view and leave none to train on; wanted 2 or more, or 0 for none"
        )
    return every_nth(len(shots), every), f"every {every}th in name order" if every else "data.every=0"
