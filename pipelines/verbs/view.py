"""`sceneloom view RUN|FILE`: the page of a trained run or of any splat file, in the web browser."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from ...data.errors import InputError
from ..run_folder import RunFolder


def run(cfg: DictConfig) -> None:
    if cfg.run is None:
        raise InputError("nothing to view: sceneloom view RUN_FOLDER or sceneloom view FILE (run= names it)")
    path = Path(cfg.run)
    if not path.exists():
        raise InputError(f"run={path}: there is no such file or folder")
    page = RunFolder(path).exports / "viewer.html"
    if not (path.is_dir() and page.is_file()):
        from ..library import open_viewer

        page = open_viewer(path, browser=False)
    print(f"viewer: {page.resolve().as_uri()}")
    if cfg.viewer.open is not False:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            print("no web browser could be started here: open the address above yourself")
