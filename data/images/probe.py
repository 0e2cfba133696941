"""What an image file says about itself without decoding it: size, orientation, alpha, whether it is whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".heic", ".heif")
_ORIENTATION_TAG = 0x0112


@dataclass(frozen=True)
class Probe:
    """Header of one image file.

    width, height  as stored, before any turn
    orientation    EXIF orientation 1..8; missing and invalid values count as 1
    mode           Pillow's pixel mode
    alpha          whether the file carries transparency
    problem        why the file cannot be used, or None
    """

    width: int = 0
    height: int = 0
    orientation: int = 1
    mode: str = ""
    alpha: bool = False
    problem: str | None = None

    @property
    def upright_size(self) -> tuple[int, int]:
        """Width and height after the EXIF orientation is applied."""
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)


def is_image(path: Path) -> bool:
    """By its ending (any case); hidden files such as `._a.jpg` are none."""
    return path.suffix.lower() in IMAGE_ENDINGS and not path.name.startswith(".")


def open_image(path: Path):
    """Pillow's lazily decoded image; HEIC where `pillow-heif` is installed. Raises OSError."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # panoramas and scans above Pillow's limit are legitimate here
    if path.suffix.lower() in (".heic", ".heif"):
        try:
            import pillow_heif  # pyright: ignore[reportMissingImports]
        except ImportError as e:
            raise OSError("HEIC needs a codec: pip install pillow-heif, or convert the photos to JPEG") from e
        pillow_heif.register_heif_opener()
    return Image.open(path)


def probe(path: Path) -> Probe:
    """Never raises: what is wrong stands in `problem`."""
    try:
        if path.stat().st_size == 0:
            return Probe(problem="the file is empty (0 bytes)")
        with open_image(path) as image:
            width, height = image.size
            tagged = image.format != "PNG" or "exif" in image.info  # asked of a PNG without, Pillow decodes it all
            orientation = image.getexif().get(_ORIENTATION_TAG, 1) if tagged else 1
            alpha = image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info
            kind = image.format
            mode = image.mode
        whole = _ends_well(path, kind or "")
    except Exception as e:  # Pillow raises many kinds for broken files; each means the same to the reader
        return Probe(problem=f"cannot be read as an image ({_short(e)})")
    valid = isinstance(orientation, int) and 1 <= orientation <= 8
    problem = None if whole else "is cut short (truncated file)"
    return Probe(width, height, orientation if valid else 1, mode, alpha, problem)


def _short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _ends_well(path: Path, kind: str) -> bool:
    """Whether the end of a JPEG or PNG is there. A doubtful end is settled by decoding the file once."""
    marker = {"JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "PNG": b"IEND"}.get(kind)
    if marker is None:
        return True
    with open(path, "rb") as f:
        f.seek(0, os.SEEK_END)
        f.seek(max(0, f.tell() - 4096))
        if marker in f.read():
            return True
    try:
        with open_image(path) as image:
            image.load()
    except Exception:
        return False
    return True


A = TypeVar("A")
B = TypeVar("B")


def in_threads(fn: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """`fn` over `items`, results in order; for work that waits for the disk or for Pillow."""
    if len(items) < 2:
        return [fn(i) for i in items]
    with ThreadPoolExecutor(max_workers=min(8, 2 * (os.cpu_count() or 1), len(items))) as pool:
        return list(pool.map(fn, items))
