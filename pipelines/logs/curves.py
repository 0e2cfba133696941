"""Line charts as inline SVG: no script, no font, no file beside them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, isfinite, log10

WIDTH, HEIGHT = 420, 200
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 26, 26
MOST_POINTS = 400


def chart(title: str, points: Sequence[tuple[float, float]], marks: bool = False) -> str:
    """One curve through (x, y) with round ticks; '' without two finite points. marks: a dot on every point."""
    kept = thinned([(x, y) for x, y in points if isfinite(x) and isfinite(y)])
    if len(kept) < 2:
        return ""
    xs, ys = [x for x, _ in kept], [y for _, y in kept]
    xticks, yticks = ticks(min(xs), max(xs), 5), ticks(min(ys), max(ys), 5)
    x0, x1 = min(xs), max(xs)
    y0, y1 = min(yticks[0], min(ys)), max(yticks[-1], max(ys))

    def px(x: float) -> float:
        return LEFT + (x - x0) / ((x1 - x0) or 1) * (WIDTH - LEFT - RIGHT)

    def py(y: float) -> float:
        return HEIGHT - BOTTOM - (y - y0) / ((y1 - y0) or 1) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts.append(f'<text class="title" x="{LEFT}" y="15">{escape(title)}</text>')
    for y in yticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(y):.1f}" y2="{py(y):.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{py(y) + 3.5:.1f}" text-anchor="end">{number(y)}</text>')
    for x in xticks:
        parts.append(f'<text x="{px(x):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{number(x)}</text>')
    parts.append(f'<polyline class="curve" points="{" ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in kept)}"/>')
    if marks:
        parts += [
            f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="2.5"><title>{x:g}: {y:.4g}</title></circle>' for x, y in kept
        ]
    return "".join([*parts, "</svg>"])


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MOST_POINTS: means of equally long stretches, first and last as they are."""
    if len(points) <= MOST_POINTS:
        return list(points)
    size = ceil((len(points) - 2) / (MOST_POINTS - 2))
    inner = [points[i : i + size] for i in range(1, len(points) - 1, size)]
    means = [(sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part)) for part in inner]
    return [points[0], *means, points[-1]]


def ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` multiples of 1, 2 or 5 times a power of ten within low..high; low itself where there is no room."""
    if high <= low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** floor(log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
    return [round(i * step, 12) for i in range(ceil(low / step), floor(high / step) + 1)] or [low]


def number(value: float) -> str:
    """12,000 as 12k."""
    if abs(value) >= 10_000 and value % 100 == 0:
        return f"{value / 1000:g}k" if abs(value) < 1e6 else f"{value / 1e6:g}M"
    return f"{value:g}"
