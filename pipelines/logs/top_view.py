"""The capture from above as inline SVG: sparse points in their colours, cameras as wedges that open where they look."""

from __future__ import annotations

from collections import defaultdict
from html import escape

import numpy as np

from ...data.scene import Scene

WIDTH, HEIGHT, MARGIN = 960, 560, 24
MOST_POINTS = 6000
MOST_CAMERAS = 1000


def top_view(scene: Scene) -> str:
    """'' without a camera at a finite place. Up is the mean of the cameras' own up."""
    poses = np.stack([v.camera.world_to_camera for v in scene.views]) if scene.views else np.zeros((0, 4, 4))
    usable = np.flatnonzero(np.isfinite(poses).all((1, 2)))
    if not len(usable):
        return ""
    poses = poses[usable]
    right, forward = plane(poses)
    axes = np.stack([right, -forward])  # SVG's y grows downwards
    centers = -np.einsum("nji,nj->ni", poses[:, :3, :3], poses[:, :3, 3]) @ axes.T
    looks = poses[:, 2, :3] @ axes.T
    xyz, rgb = _sample(scene)
    points = xyz @ axes.T
    low, high = _window(points, centers)
    scale = min((WIDTH - 2 * MARGIN) / (high - low)[0], (HEIGHT - 2 * MARGIN) / (high - low)[1])
    middle = np.array([WIDTH, HEIGHT]) / 2 - scale * (low + high) / 2

    held = set(scene.test)
    step = -(-len(usable) // MOST_CAMERAS)
    shown = range(0, len(usable), step)
    at = centers * scale + middle
    cameras = [_wedge(at[i], looks[i], scene.views[usable[i]].name, int(usable[i]) in held) for i in shown]
    label = escape(f"{scene.name} from above: {len(scene.views)} cameras, {len(scene.points)} points")
    head = f'<svg class="top" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    return head + _dots(points * scale + middle, rgb) + "".join(cameras) + "</svg>"


def plane(poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit axes [3], [3] of the ground: right along the widest spread of the cameras, forward so that up = right x forward."""
    up = -poses[:, 1, :3].sum(0)
    if np.linalg.norm(up) < 1e-6 * len(poses):  # cameras that cancel out
        up = -poses[0, 1, :3]
    up = up / np.linalg.norm(up)
    centers = -np.einsum("nji,nj->ni", poses[:, :3, :3], poses[:, :3, 3])
    flat = centers - centers.mean(0)
    flat = flat - np.outer(flat @ up, up)
    spread = np.linalg.svd(flat, full_matrices=False)[2][0] if len(flat) > 2 else poses[0, 0, :3]
    right = spread - (spread @ up) * up
    if np.linalg.norm(right) < 1e-9:
        right = np.eye(3)[np.abs(up).argmin()] - up * up[np.abs(up).argmin()]
    right = right / np.linalg.norm(right)
    return right, np.cross(up, right)


def _sample(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """At most MOST_POINTS finite points, evenly over the list, and their colours."""
    finite = np.flatnonzero(np.isfinite(scene.points.xyz).all(1))
    kept = finite[:: max(1, -(-len(finite) // MOST_POINTS))]
    return scene.points.xyz[kept], scene.points.rgb[kept]


def _window(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What to show: every camera and the middle 96 % of the points; far outliers would make all else a dot."""
    low, high = centers.min(0), centers.max(0)
    if len(points):
        edges = np.percentile(points, [2, 98], axis=0)
        reach = 3 * np.maximum((high - low).max(), 1e-9) if len(centers) > 1 else np.inf
        low, high = (
            np.minimum(low, np.maximum(edges[0], low - reach)),
            np.maximum(high, np.minimum(edges[1], high + reach)),
        )
    least = max(float((high - low).max()), 1e-6) * 0.2
    grow = np.maximum(least - (high - low), 0) / 2
    return low - grow, high + grow


def _dots(at: np.ndarray, rgb: np.ndarray) -> str:
    """One path per colour of 4 levels a channel: small, and quick to draw."""
    inside = ((at >= 0) & (at <= [WIDTH, HEIGHT])).all(1)
    paths: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for (x, y), colour in zip(at[inside], rgb[inside] // 64, strict=True):
        paths[tuple(colour.tolist())].append(f"M{x:.0f} {y:.0f}h0")
    return "".join(
        f'<path class="dots" stroke="rgb({",".join(str(64 * c + 32) for c in colour)})" d="{"".join(parts)}"/>'
        for colour, parts in sorted(paths.items())
    )


def _wedge(at: np.ndarray, look: np.ndarray, name: str, held: bool) -> str:
    """A camera at `at` that opens along `look` [2]; a short wedge looks up or down."""
    side = np.array([-look[1], look[0]])
    left, right = at + 14 * look + 7 * side, at + 14 * look - 7 * side
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at, left, right))
    kind, note = ("camera held", f"{name} (held out)") if held else ("camera", name)
    shape = f'<polygon points="{corners}"/><circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="2.5"/>'
    return f'<g class="{kind}"><title>{escape(note)}</title>{shape}</g>'
