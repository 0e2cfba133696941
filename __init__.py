"""sceneloom: photos go in, a scene you can walk through comes out.

The command line is `sceneloom` (see README). In a notebook:

    import sceneloom
    scene = sceneloom.load_capture("my_photos")         # a Scene: cameras, photos, points
    model = sceneloom.load_model("runs/my_photos/…")    # a run folder, a checkpoint or a splat file
    picture = sceneloom.render(model, scene.views[0].camera)   # Rendered: .rgb [H, W, 3], .alpha, .depth
    sceneloom.open_viewer(model)                         # a page in the browser
"""

from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .data.capture import load_capture as load_capture
    from .pipelines.library import load_model as load_model
    from .pipelines.library import open_viewer as open_viewer
    from .pipelines.library import render as render

_WHERE = {
    "load_capture": "data.capture",
    "load_model": "pipelines.library",
    "render": "pipelines.library",
    "open_viewer": "pipelines.library",
}

__all__ = ["__version__", "load_capture", "load_model", "open_viewer", "render"]


def __getattr__(name: str) -> Any:
    """The public functions, imported when first asked for: `import sceneloom` stays instant."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
