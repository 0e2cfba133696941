"""From a trained model to files that open elsewhere: cleaned, cut, in the input's coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.errors import InputError
from ..data.formats import write_splats
from ..data.gaussians import Gaussians
from ..data.images.cache import ImageCache
from ..data.scene import Frame, Scene
from ..renderers.splats.render import NEAR
from ..viewer.page import PageCamera, thumbnail, write_page
from .run_folder import write_json
from .targets import Colour, as_float, target

PAGE = "html"
SUFFIX = {"ply": "scene.ply", "spz": "scene.spz", PAGE: "viewer.html"}


@dataclass(frozen=True)
class ExportOptions:
    """The `export` node of the config. crop: [[x, y, z] low, [x, y, z] high] in input coordinates; recenter: splat files around
    the origin (the offset is in frame.json) for captures in map coordinates, which float32 cannot hold."""

    formats: tuple[str, ...] = ("ply", PAGE)
    min_opacity: float = 0.0
    max_gaussians: int | None = None
    recenter: bool = False
    crop: Any = None
    thumbnails: int = 320

    def __post_init__(self) -> None:
        unknown = [f for f in self.formats if f not in SUFFIX]
        if unknown:
            raise InputError(
                f"export.formats={list(self.formats)}: {unknown[0]} is not known; want some of {list(SUFFIX)}"
            )
        if self.crop is not None and not _is_box(self.crop):
            raise InputError(f"export.crop={self.crop}: want [[x,y,z],[x,y,z]], the low and the high corner")


def _is_box(crop: Any) -> bool:
    try:
        corners = np.asarray(crop, np.float64)
    except (TypeError, ValueError):
        return False
    return corners.shape == (2, 3) and not np.isnan(corners).any()


@dataclass(frozen=True)
class Exported:
    """One written file and a line about it."""

    path: Path
    bytes: int
    gaussians: int
    note: str


def cleaned(g: Gaussians, frame: Frame, options: ExportOptions) -> tuple[Gaussians, str]:
    """What is to be exported, still in world coordinates, and a line about what was left out."""
    keep = g.finite()
    dropped = {"not finite": int((~keep).sum())}
    opacity = 1 / (1 + np.exp(-g.logits.astype(np.float64)))
    faint = keep & (opacity < options.min_opacity)
    keep &= ~faint
    dropped["fainter than export.min_opacity"] = int(faint.sum())
    if options.crop is not None:
        low, high = np.asarray(options.crop, np.float64)
        xyz = frame.to_input(g.means.astype(np.float64))
        outside = keep & ~((xyz >= low) & (xyz <= high)).all(1)
        keep &= ~outside
        dropped["outside export.crop"] = int(outside.sum())
    if options.max_gaussians is not None and keep.sum() > options.max_gaussians:
        weight = np.where(keep, opacity * np.exp(np.sort(g.log_scales, 1)[:, 1:].sum(1)), -1)
        best = np.argsort(-weight, kind="stable")[: options.max_gaussians]
        dropped["over export.max_gaussians"] = int(keep.sum()) - options.max_gaussians
        keep = np.zeros(len(g), bool)
        keep[best] = True
    line = ", ".join(f"{n} {why}" for why, n in dropped.items() if n)
    return g.select(keep), f"left out: {line}" if line else "all Gaussians"


def export(
    g: Gaussians,
    scene: Scene,
    cache: ImageCache,
    options: ExportOptions,
    folder: Path,
    background: Colour,
    antialiased: bool,
) -> list[Exported]:
    """Write every wanted format into `folder`. Splat files are in input coordinates; the page keeps the world's."""
    kept, note = cleaned(g, scene.frame, options)
    if not len(kept):
        raise InputError("nothing left to export; loosen export.crop, export.min_opacity or export.max_gaussians")
    folder.mkdir(parents=True, exist_ok=True)
    frame = replace(scene.frame, origin=np.zeros(3)) if options.recenter else scene.frame
    written = []
    try:
        offset = (scene.frame.origin - frame.origin).tolist()
        matrices = {"world_to_input": scene.frame.matrix.tolist(), "offset_of_splat_files": offset}
        write_json(folder / "frame.json", matrices)
        for name in options.formats:
            path = folder / SUFFIX[name]
            notes = [note]
            if name == PAGE:
                cameras = page_cameras(scene, cache, background, options.thumbnails)
                notes += write_page(path, kept, cameras, scene.name, background, NEAR, antialiased).warnings
            else:
                write_splats(path, in_input_frame(kept, frame), antialiased)
            written.append(Exported(path, path.stat().st_size, len(kept), "; ".join(notes)))
    except OSError as error:
        raise InputError(
            f"cannot write into {folder}: {error.strerror or error}; the file was not begun or is the old one (free space, or set out=)"
        ) from error
    return written


def in_input_frame(g: Gaussians, frame: Frame) -> Gaussians:
    return g.moved(frame.scale, frame.origin)


def in_world_frame(g: Gaussians, frame: Frame) -> Gaussians:
    return g.moved(1.0 / frame.scale, -frame.origin / frame.scale)


def precision_warning(g: Gaussians, frame: Frame) -> str | None:
    """float32 cannot hold small splats far from the origin: say so when a step of the coordinates is a tenth of a splat."""
    step = float(np.abs(frame.to_input(g.means.astype(np.float64))).max()) * 2.0**-23
    size = float(np.exp(np.median(g.log_scales))) * frame.scale
    if step <= 0.1 * size:
        return None
    return (
        f"input coordinates are so large that float32 steps ({step:.2g}) blur splats of median size {size:.2g}; "
        "export.recenter=true writes them around the origin and stores the offset beside the file"
    )


def page_cameras(scene: Scene, cache: ImageCache, background: Colour, side: int) -> list[PageCamera]:
    """The photos' cameras in name order, each with a small picture of its photo (none if `side` is 0)."""
    held = set(scene.test)
    cameras = []
    for i, view in enumerate(scene.views):
        photo = None
        if side:
            picture = as_float(target(cache.get(view), background)).numpy()
            photo = thumbnail((picture * 255 + 0.5).astype(np.uint8), side)
        cameras.append(PageCamera(view.name, view.camera, photo, i in held))
    return cameras
