"""A folder of photos without poses: list them, then let structure from motion place them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..errors import InputError
from ..images.masks import MASK_FOLDERS
from ..images.probe import in_threads, is_image, probe
from ..lenses import Lens
from ..scene import Fact
from ..sfm.prepare import Photo
from ..sfm.run import Progress, SfmOptions, SfmResult, reconstruct
from .colmap_files import find_file, read_cameras, read_images, read_points
from .stated import Capture, KnownLens, Shot, some

VIDEO_ENDINGS = (".mp4", ".mov", ".avi", ".mkv", ".m4v", ".webm")
_POOR_ERROR = 2.0  # px; more is a warning
_POOR_SHARE = 0.8  # of the photos; fewer is a warning
_POINTS_PER_PHOTO = 50  # a model with fewer, of less than half of the photos, is chance: refused


def photo_folder(path: Path) -> Path:
    """images/ or input/ below `path` where it holds photos, else `path` itself."""
    for name in ("images", "input"):
        folder = path / name
        if folder.is_dir() and any(is_image(p) for p in folder.rglob("*")):
            return folder
    return path


def list_photos(folder: Path) -> tuple[list[Path], list[Fact]]:
    """All images below `folder` in name order, nested ones too; hidden files, masks and other files are counted."""
    photos, hidden, other = [], [], Counter()
    videos = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file():
            continue
        if any(p.startswith(".") or p == "__MACOSX" for p in parts):
            hidden.append(path.name)
        elif any(p.lower() in MASK_FOLDERS for p in parts[:-1]):
            continue
        elif is_image(path):
            photos.append(path)
        elif path.suffix.lower() in VIDEO_ENDINGS:
            videos.append(path.name)
        else:
            other[path.suffix.lower() or "without ending"] += 1
    facts = []
    if hidden:
        facts.append(Fact("images", f"{len(hidden)} hidden files skipped: {some(hidden)}"))
    if other:
        text = ", ".join(f"{n} {ending}" for ending, n in sorted(other.items()))
        facts.append(Fact("images", f"{sum(other.values())} files that are no photos skipped ({text})"))
    if videos:
        facts.append(
            Fact(
                "images",
                f"{len(videos)} videos skipped (not read; extract frames from them): {some(videos)}",
                "warning",
            )
        )
    return photos, facts


def read_photos(
    path: Path,
    image_path: Path | None = None,
    sfm: SfmOptions | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Capture:
    """List and place the photos at `path`. Raises InputError when there are none or none overlap."""
    folder = image_path or photo_folder(path)
    paths, facts = list_photos(folder)
    if not paths:
        reason = facts[-1].text if facts else "the folder is empty"
        raise InputError(
            f"no photos in {folder} ({reason}); set data.path to a folder with JPEG, PNG, TIFF or WebP images"
        )
    probes = in_threads(probe, paths)
    names = [p.relative_to(folder).as_posix() for p in paths]
    broken = [f"{n} {p.problem}" for n, p in zip(names, probes, strict=True) if p.problem]
    if broken and strict:
        raise InputError(f"{len(broken)} of {len(paths)} photos are unusable (data.strict=true): {some(broken, 20)}")
    if broken:
        facts.append(Fact("broken", f"{len(broken)} of {len(paths)} photos skipped: {some(broken)}", "warning"))
    photos = [Photo(n, f, p) for n, f, p in zip(names, paths, probes, strict=True) if not p.problem]
    if len(photos) < 2:
        why = f" ({some(broken)})" if broken else ""
        raise InputError(
            f"{len(photos)} of {len(paths)} photos in {folder} can be used{why}: poses need at least 2 that overlap; set data.path to more"
        )
    result = reconstruct(photos, sfm or SfmOptions(), progress=progress)
    _require_sound(result, len(photos))
    shots = _shots(photos, result)
    placed = {s.name for s in shots}
    facts += _quality(result, len(photos), [p.name for p in photos if p.name not in placed])
    points, _ = read_points(result.model / "points3D.bin")
    root = path if path.name else path.resolve()
    return Capture("photos", root, shots, points, tuple(facts), upright=True, folders=(folder.parent, folder, path))


def _require_sound(result: SfmResult, count: int) -> None:
    """Refuse what a few chance matches can make of photos that do not overlap."""
    best = result.models[0]
    placed, points = best["registered"], best["points"]
    if placed < 2 or (2 * placed < count and points < _POINTS_PER_PHOTO * placed):
        raise InputError(
            f"the {count} photos do not overlap enough: only {placed} could be placed, by {points} points, which is no "
            "more than chance. Neighbouring photos should share most of what they show; add some in between (data.path)"
        )


def _shots(photos: list[Photo], result: SfmResult) -> tuple[Shot, ...]:
    cameras = read_cameras(find_file(result.model, "cameras") or result.model / "cameras.bin")
    by_name = {p.name: p for p in photos}
    shots = []
    for image in read_images(result.model / "images.bin"):
        photo = by_name[result.names[image.name]]
        lens: Lens = cameras[image.camera_id].scaled(*photo.probe.upright_size)
        shots.append(Shot(photo.name, photo.path, KnownLens(lens), image.world_to_camera))
    return tuple(sorted(shots, key=lambda s: s.name))


def _quality(result: SfmResult, count: int, lost: list[str]) -> list[Fact]:
    """What to think of the result, from its registered share, its error and how many pieces it fell into."""
    best = result.models[0]
    share = best["registered"] / count
    text = (
        f"pycolmap {result.version} placed {best['registered']} of {count} photos, {best['points']} points, "
        f"mean reprojection error {best['error']:.3f} px{' (from the cache)' if result.cached else ''}"
    )
    facts = [Fact("sfm", text, "warning" if share < _POOR_SHARE or best["error"] > _POOR_ERROR else "info")]
    if lost:
        facts.append(Fact("unposed", f"{len(lost)} photos could not be placed, left out: {some(lost)}", "warning"))
    if len(result.models) > 1:
        sizes = ", ".join(str(m["registered"]) for m in result.models)
        facts.append(
            Fact("models", f"the photos fell into {len(result.models)} pieces ({sizes}); took the largest", "warning")
        )
    facts.append(Fact("sfm", f"focal length from EXIF for {result.focal_priors} of {count} photos, then refined"))
    return facts
