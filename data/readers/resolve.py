"""From a listed file path to a file on disk: missing endings, other case of endings, moved image folders."""

from __future__ import annotations

import posixpath
from pathlib import Path, PurePosixPath

from ..errors import InputError
from ..images.probe import IMAGE_ENDINGS
from ..scene import Fact
from .stated import some


class Resolver:
    """Finds the images a capture at `root` lists; with `image_path`, looks there as well (first).

    folders_used  folders in which images were found
    """

    def __init__(self, root: Path, image_path: Path | None = None):
        if image_path is not None and not image_path.is_dir():
            raise InputError(f"data.image_path={image_path} is not a folder")
        self.root, self.image_path = root, image_path
        self.folders_used: set[Path] = set()
        self.ambiguous: list[str] = []
        self._listings: dict[Path, dict[str, list[str]]] = {}

    def image(self, base: Path, listed: str) -> tuple[str, Path | None]:
        """`listed` relative to `base` -> (name relative to the capture with its real ending, file or None)."""
        clean = posixpath.normpath(listed.replace("\\", "/"))
        candidates = [base / clean]
        if self.image_path is not None:
            parts = PurePosixPath(clean).parts
            candidates = [
                self.image_path.joinpath(*parts[i:]) for i in range(len(parts)) if parts[i] != "/"
            ] + candidates
        for candidate in candidates:
            if found := self._on_disk(candidate, listed):
                self.folders_used.add(found.parent)
                return PurePosixPath(clean).with_name(found.name).as_posix().lstrip("/"), found
        return clean.lstrip("/"), None

    def beside(self, base: Path, listed: str) -> Path | None:
        """A mask or the like, exactly as listed."""
        path = base / listed.replace("\\", "/")
        return path if path.is_file() else None

    def _on_disk(self, path: Path, listed: str) -> Path | None:
        if path.is_file():
            return path
        names = self._listing(path.parent).get(path.name.lower(), [])
        if path.suffix.lower() in IMAGE_ENDINGS:
            return path.with_name(names[0]) if names else None  # the same name in another case
        found = [n for e in IMAGE_ENDINGS for n in self._listing(path.parent).get(path.name.lower() + e, [])]
        if len(found) > 1:
            self.ambiguous.append(f"{listed} ({', '.join(found)})")
        return path.with_name(found[0]) if found else None

    def _listing(self, folder: Path) -> dict[str, list[str]]:
        """Names in a folder by their lower-case form, read once."""
        if folder not in self._listings:
            names: dict[str, list[str]] = {}
            if folder.is_dir():
                for entry in sorted(folder.iterdir()):
                    names.setdefault(entry.name.lower(), []).append(entry.name)
            self._listings[folder] = names
        return self._listings[folder]

    def facts(self) -> list[Fact]:
        if not self.ambiguous:
            return []
        text = f"{len(self.ambiguous)} names without ending fit several files, the first taken: {some(self.ambiguous)}"
        return [Fact("images", text, "warning")]
