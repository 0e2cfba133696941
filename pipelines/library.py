"""The public functions for scripts and notebooks."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..data.errors import InputError
from ..data.formats import read_splats
from ..data.gaussians import Gaussians
from ..data.scene import Camera, Frame, Query
from ..distributed import checkpoint
from ..renderers.protocols import Rendered
from ..renderers.splats.backends import choose
from ..renderers.splats.model import Splats
from ..renderers.splats.render import SplatRenderer
from ..viewer.page import write_page
from .loaded import LoadedSplats, of_checkpoint
from .run_folder import RunFolder


def load_model(path: str | Path) -> LoadedSplats:
    """A model from a run folder, a checkpoint folder or a splat file (.ply, .spz, …).

    A splat file's world is its own frame; a run's world is the capture's `Scene` world (`load_capture` with the same options).
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if path.is_file():
        return LoadedSplats(Splats.from_gaussians(read_splats(path)), Frame())
    if (path / checkpoint.MANIFEST).is_file():
        found = checkpoint.load(path)
    else:
        newest, _ = checkpoint.latest(RunFolder(path).checkpoints)
        if newest is None:
            raise InputError(
                f"{path} holds no whole checkpoint (a run folder, a step_… folder or a splat file is wanted)"
            )
        found = newest
    return of_checkpoint(found)


def render(
    model: LoadedSplats,
    camera: Camera,
    background: Sequence[float] | None = None,
    depth: bool = False,
    backend: str = "auto",
) -> Rendered:
    """One picture of a model, without gradients: rgb [H, W, 3] float32 (not clamped), alpha [H, W, 1], depth [H, W, 1] if wanted."""
    chosen = choose(backend)
    if chosen.device != model.splats.device:
        moved = {k: v.detach().to(chosen.device) for k, v in model.params().items()}
        model = LoadedSplats(Splats(moved, model.splats.active_degree), model.frame, model.antialiased)
    with torch.no_grad():
        return SplatRenderer(chosen, antialiased=model.antialiased)(model, Query(camera), background, depth)


def open_viewer(model: Any, title: str = "sceneloom", browser: bool = True) -> Path:
    """Write the page of a model (or of a path that `load_model` takes) and open it in the web browser; returns the file."""
    if isinstance(model, (str, Path)):
        title = Path(model).stem
        model = load_model(model)
    gaussians: Gaussians = model.splats.gaussians()
    path = Path(tempfile.mkdtemp(prefix="sceneloom-")) / "viewer.html"
    write_page(path, gaussians.select(gaussians.finite()), (), title=title, antialiased=model.antialiased)
    if browser:
        webbrowser.open(path.as_uri())
    return path
