"""The built-in demo: a still life of our own making, photographed by our own ray tracer, kept in the user's cache.

`still_life` says what stands on the table, `shapes` meets it with rays, `textures` paints it, `tracer` lights and draws
it, `cameras` walks around it, `capture` writes it out as any other capture, `cache` keeps it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from ..errors import InputError
from ..user_cache import cache_dir
from .cache import cached_folder


def demo_capture(
    progress: Callable[[str], None] | None = None,
    width: int = 400,
    views: int = 48,
    threads: int | None = None,
) -> Path:
    """The folder of the demo capture, rendered on first use and checked on later ones.

    progress  told in a few lines how far the rendering is; silent when the capture is already there
    width     of the pictures in pixels; their height is 3/4 of it
    views     number of pictures, on three rings; the first is the one to show
    threads   used for rendering (default: all cores); the result does not depend on it

    The folder is an ordinary capture: `transforms.json` (nerfstudio), `images/`, `depth/`, `points.ply`.
    """
    if not 32 <= width <= 4096 or views < 3:
        raise InputError(f"the demo needs a width of 32 to 4096 pixels and at least 3 views, not {width} and {views}")

    def build(folder: Path) -> None:
        from .capture import write_capture  # brings numba, which takes a second to import

        write_capture(folder, width, views, threads, progress)

    return cached_folder(cache_dir("demo", _key(width, views)) / "demo", build)


def _key(width: int, views: int) -> str:
    """A hash of all that the capture depends on: its parameters and the text of the code that draws it."""
    digest = hashlib.sha256(f"{width} {views}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]
