"""Which mask belongs to which image, by the spellings in use: a.png, a.jpg.png, a.mask.png under masks/ or mask/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from .probe import IMAGE_ENDINGS

MASK_FOLDERS = ("masks", "mask")


def mask_folders(roots: Iterable[Path], given: Path | None = None) -> list[Path]:
    """Folders to search: the one given, else masks/ and mask/ of every root that has them."""
    if given is not None:
        return [given]
    found: list[Path] = []
    for root in roots:
        found += [root / n for n in MASK_FOLDERS if (root / n).is_dir() and root / n not in found]
    return found


class MaskFinder:
    """Looks masks up by an image's relative name; endings and the case of them do not matter.

    `names` are all images: leading folders of a name may be absent in the mask's only where what remains is unique
    among them.
    """

    def __init__(self, folders: Sequence[Path], names: Iterable[str] = ()):
        self.tails = Counter(tail for n in names for tail in _tails(n))
        self.by_name: dict[str, Path] = {}
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if path.suffix.lower() in IMAGE_ENDINGS and not path.name.startswith("."):
                    key = path.relative_to(folder).as_posix().lower()
                    self.by_name.setdefault(key, path)

    def __len__(self) -> int:
        return len(self.by_name)

    def find(self, name: str) -> Path | None:
        """`name`: the image's path relative to its image folder, e.g. `camA/0001.jpg`."""
        for position, relative in enumerate(_tails(name)):
            if position and self.tails[relative] > 1:
                return None
            stem = relative.with_suffix("")
            for base in (f"{relative}", f"{stem}", f"{stem}.mask", f"{relative}.mask", f"{stem}_mask"):
                for ending in (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp"):
                    if path := self.by_name.get(base + ending):
                        return path
        return None


def _tails(name: str) -> list[PurePosixPath]:
    """a/b/c.jpg -> a/b/c.jpg, b/c.jpg, c.jpg."""
    parts = PurePosixPath(name.lower()).parts
    return [PurePosixPath(*parts[i:]) for i in range(len(parts))]
