"""The exported page: one HTML file with the viewer, the splats and the cameras; opens from disk with no network."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..data.errors import InputError
from ..data.files import write_atomically
from ..data.gaussians import Gaussians
from ..data.scene import Camera
from .bundle import bundle_script, script_json, static_text
from .payload import MAX_DEGREE, Payload, pack

LARGE_PAGE_BYTES = 150 * 2**20
MAX_PHOTO_BYTES = 16 * 2**20
PHOTO_TYPES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PN": "image/png", b"RIF": "image/webp"}


@dataclass(frozen=True)
class PageCamera:
    """A camera to jump to, in the frame of the exported splats. `photo`: encoded JPEG, PNG or WebP (`thumbnail`)."""

    name: str
    camera: Camera
    photo: bytes | None = None
    held_out: bool = False


@dataclass(frozen=True)
class PageReport:
    """What was written: bytes of the file, splats in it, rows left out as non-finite, lines worth telling the user."""

    path: Path
    bytes: int
    splats: int
    dropped: int
    warnings: tuple[str, ...] = ()


def thumbnail(rgb: np.ndarray, max_side: int = 480, quality: int = 80) -> bytes:
    """[H, W, 3] uint8 -> JPEG bytes whose longer side is at most `max_side` pixels."""
    from PIL import Image

    picture = Image.fromarray(rgb)
    picture.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality)
    return out.getvalue()


def write_page(
    path: Path | str,
    gaussians: Gaussians,
    cameras: Sequence[PageCamera] = (),
    title: str = "Scene",
    background: tuple[float, float, float] = (0.0, 0.0, 0.0),
    near: float = 0.01,
    antialiased: bool = False,
    eps2d: float = 0.3,
) -> PageReport:
    """Write `path` (one self-contained .html), atomically.

    background  sRGB 0..1, composited behind the splats as the renderer does
    near        splats nearer than this to the camera plane are not drawn; units of the exported frame
    antialiased, eps2d  as the renderer was asked: opacity compensation and the screen-space blur in px^2
    Photos beyond 16 MiB in all are left out, evenly spread over the cameras.
    """
    path = Path(path)
    keep = gaussians.finite()
    if not keep.any():
        raise InputError(f"nothing to write to {path}: {len(gaussians)} splats, none of them finite")
    kept = gaussians if keep.all() else gaussians.select(keep)
    warnings = []
    if kept.degree > MAX_DEGREE:
        warnings.append(f"{path.name} shows SH degree {MAX_DEGREE}; degree {kept.degree} of the splats is left out")
        kept = Gaussians(kept.means, kept.quats, kept.log_scales, kept.logits, kept.sh[:, : (MAX_DEGREE + 1) ** 2])
    payload = pack(kept)
    photos, left_out = _photos(cameras)
    if left_out:
        warnings.append(
            f"{path.name} holds {len(cameras) - left_out} of {len(cameras)} photos, to stay openable on a phone"
        )
    meta = {
        "title": title,
        "count": len(kept),
        **_whereabouts(kept),
        "counts": payload.counts,
        "degree": payload.degree,
        "reach": payload.reach,
        "background": [float(c) for c in background],
        "near": float(near),
        "antialiased": bool(antialiased),
        "eps2d": float(eps2d),
        "cameras": [_camera(c, photo) for c, photo in zip(cameras, photos, strict=True)],
    }
    data = page_text(title, meta, payload).encode()
    if len(data) > LARGE_PAGE_BYTES:
        warnings.append(
            f"{path.name} is {len(data) / 2**20:.0f} MiB, phones may fail to open it; fewer splats: train.max_gaussians"
        )

    def check(written: Path) -> None:
        if written.read_bytes() != data:
            raise OSError("the file holds other bytes than were written (bad disk?)")

    write_atomically(path, lambda file: (file.write(data), None)[-1], check)
    return PageReport(path, len(data), len(kept), int((~keep).sum()), tuple(warnings))


def page_text(title: str, meta: dict, payload: Payload) -> str:
    """The template with its five slots filled. Every value is escaped for the place it goes to."""
    slots = {
        "TITLE": html.escape(title),
        "STYLE": static_text("viewer.css"),
        "META": script_json(meta),
        "BLOCKS": "\n".join(f'<script type="text/plain" class="block">{block}</script>' for block in payload.blocks),
        "SCRIPT": bundle_script("main.js"),
    }
    pieces = static_text("viewer.html").split("{{")
    return pieces[0] + "".join(slots[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def _whereabouts(splats: Gaussians) -> dict:
    """Where most splats lie: their median and the radius around it that holds nine in ten."""
    centre = np.median(splats.means, 0)
    radius = float(np.quantile(np.linalg.norm(splats.means - centre, axis=1), 0.9))
    return {"centre": [float(x) for x in centre], "radius": radius or 1.0}


def _camera(view: PageCamera, photo: bytes | None) -> dict:
    camera = view.camera
    entry = {
        "name": view.name,
        "viewmat": [round(float(x), 9) for x in camera.world_to_camera.ravel()],
        "fx": float(camera.K[0, 0]),
        "fy": float(camera.K[1, 1]),
        "cx": float(camera.K[0, 2]),
        "cy": float(camera.K[1, 2]),
        "width": int(camera.width),
        "height": int(camera.height),
    }
    if view.held_out:
        entry["heldOut"] = True
    if photo is not None:
        entry["photo"] = f"data:{PHOTO_TYPES[photo[:3]]};base64,{base64.b64encode(photo).decode()}"
    return entry


def _photos(cameras: Sequence[PageCamera]) -> tuple[list[bytes | None], int]:
    """Photos to embed, and how many had to be left out to stay within MAX_PHOTO_BYTES."""
    photos = [c.photo for c in cameras]
    for view in cameras:
        if view.photo is not None and view.photo[:3] not in PHOTO_TYPES:
            raise InputError(f"the thumbnail of {view.name} is neither JPEG, PNG nor WebP")
    step = -(-sum(len(p) for p in photos if p) // MAX_PHOTO_BYTES)
    kept = [photo if step <= 1 or i % step == 0 else None for i, photo in enumerate(photos)]
    return kept, sum(p is not None for p in photos) - sum(p is not None for p in kept)
