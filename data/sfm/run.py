"""Run the child process, follow its progress, keep its result under the user's cache by the content of the photos."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..images.probe import in_threads
from ..user_cache import cache_dir
from .prepare import Photo, working_copies
from .scratch import scratch_folder

Progress = Callable[[str, int, int], None]
"""progress(stage, done, total)."""

_VERSION = 1  # of what is computed; raise it to make old cache entries unused
_COUNTERS = re.compile(r"Processed file \[(\d+)/(\d+)\]|Processing block \[(\d+)/(\d+)")


@dataclass(frozen=True)
class SfmOptions:
    """Keys of `data.sfm`.

    max_size       longest side of the pictures features are found in, pixels
    features       most features per picture
    matcher        auto | exhaustive | sequential (photos in walking order) | retrieval (order and look-alikes)
    exhaustive_to  with auto: up to this many photos all pairs are matched, beyond it retrieval
    overlap        neighbours in order to match
    neighbours     look-alikes to match
    """

    max_size: int = 1600
    features: int = 8192
    matcher: str = "auto"
    exhaustive_to: int = 150
    overlap: int = 10
    neighbours: int = 25

    def __post_init__(self) -> None:
        if self.matcher not in ("auto", "exhaustive", "sequential", "retrieval"):
            raise InputError(f"data.sfm.matcher={self.matcher!r}: wanted auto, exhaustive, sequential or retrieval")
        for key in ("max_size", "features", "overlap", "neighbours"):
            if int(getattr(self, key)) < 1:
                raise InputError(f"data.sfm.{key}={getattr(self, key)}: wanted a positive number")

    def matcher_for(self, photos: int) -> str:
        if self.matcher != "auto":
            return self.matcher
        return "exhaustive" if photos <= self.exhaustive_to else "retrieval"


@dataclass(frozen=True)
class SfmResult:
    """model: folder of the COLMAP model whose image names are keys of `names` (values: the photos' own names).

    models: registered images, points and mean reprojection error [px] of every sub-model, the taken one first.
    """

    model: Path
    names: dict[str, str]
    models: tuple[dict[str, Any], ...]
    cached: bool
    version: str
    focal_priors: int


def reconstruct(
    photos: Sequence[Photo], options: SfmOptions, threads: int = -1, progress: Progress | None = None
) -> SfmResult:
    """Poses, lens and sparse points of photos. Raises InputError when nothing registers or pycolmap is not usable."""
    progress = progress or (lambda stage, done, total: None)
    progress("hashing", 0, len(photos))
    place = cache_dir("sfm") / _fingerprint(photos, options)
    if (done := _load(place, True)) is not None:
        return done
    with scratch_folder(place.parent) as scratch:
        result = _compute(photos, options, threads, progress, scratch)
        try:
            os.replace(result, place)
        except OSError:  # another process was faster
            if _load(place, True) is None:
                raise
    loaded = _load(place, False)
    if loaded is None:
        raise InputError(
            f"the SfM result could not be read back from {place}; is the disk full? ($SCENELOOM_CACHE moves it)"
        )
    return loaded


def _fingerprint(photos: Sequence[Photo], options: SfmOptions) -> str:
    def digest(photo: Photo) -> str:
        with open(photo.path, "rb") as f:
            return hashlib.file_digest(f, "blake2b").hexdigest()

    total = hashlib.blake2b(digest_size=20)
    total.update(json.dumps([_VERSION, asdict(options)], sort_keys=True).encode())
    for photo, content in zip(photos, in_threads(digest, photos), strict=True):
        total.update(f"{photo.name}\0{content}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _load(place: Path, cached: bool) -> SfmResult | None:
    try:
        summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
        if not (place / "model" / "images.bin").is_file():
            return None
        return SfmResult(
            place / "model",
            summary["names"],
            tuple(summary["models"]),
            cached,
            summary["version"],
            summary["focal_priors"],
        )
    except (OSError, ValueError, KeyError):
        return None


def _compute(photos: Sequence[Photo], options: SfmOptions, threads: int, progress: Progress, scratch: Path) -> Path:
    """Returns a folder holding model/ and summary.json."""
    images, output, result = scratch / "images", scratch / "models", scratch / "result"
    for folder in (images, output, result):
        folder.mkdir()
    progress("preparing", 0, len(photos))
    names, groups = working_copies(photos, images, options.max_size)
    job = {
        "database": str(scratch / "database.db"),
        "images": str(images),
        "output": str(output),
        "groups": [asdict(g) for g in groups],
        "matcher": options.matcher_for(len(photos)),
        "features": options.features,
        "overlap": options.overlap,
        "neighbours": options.neighbours,
        "threads": threads,
    }
    (scratch / "job.json").write_text(json.dumps(job), encoding="utf-8")
    said = run_child(scratch / "job.json", progress)
    models = sorted(said["models"], key=lambda m: (-m["registered"], m["folder"]))
    if not models:
        raise InputError(
            f"none of the {len(photos)} photos could be placed: no overlap was found between them. "
            "Neighbouring photos should share most of what they show; add photos in between (data.path)"
        )
    os.replace(output / models[0]["folder"], result / "model")
    summary = {
        "names": names,
        "models": models,
        "version": said.get("version", ""),
        "focal_priors": sum(len(g.names) for g in groups if g.focal),
    }
    (result / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return result


def run_child(job: Path, progress: Progress) -> dict[str, Any]:
    """Everything the child said, merged. Raises InputError with its last words when it fails."""
    worker = Path(__file__).with_name("worker.py")
    child = subprocess.Popen(
        [sys.executable, "-P", str(worker), str(job)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    last: deque[str] = deque(maxlen=30)
    stage = ["features", 0, 1]
    log_lines = child.stderr

    def follow_log() -> None:
        for line in log_lines:
            last.append(line.rstrip())
            if found := _COUNTERS.search(line):
                file, _, block, blocks = found.groups()
                if file and stage[0] == "features":
                    progress("features", stage[1] + int(file), stage[2])
                elif block and stage[0] == "matching":
                    progress("matching", stage[2] * (int(block) - 1) // int(blocks), stage[2])

    log = threading.Thread(target=follow_log, daemon=True)
    log.start()
    said: dict[str, Any] = {}
    try:
        for line in child.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if "stage" in message:
                stage[:] = message["stage"], message["done"], message["total"]
                progress(*stage)
            else:
                said.update(message)
        code = child.wait()
    finally:
        if child.poll() is None:  # an interrupt on our side
            child.kill()
            child.wait()
        child.stdin.close()
        log.join(timeout=5)
        child.stdout.close()
        child.stderr.close()
    if "error" in said:
        raise InputError(said["error"])
    if "models" not in said:
        words = next((w for w in reversed(last) if w and not w.startswith("I2")), "no message")
        raise InputError(
            f"structure from motion ended early (exit code {code}): {words}; "
            "fewer or smaller photos may help (data.sfm.max_size)"
        )
    return said
