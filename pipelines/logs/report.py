"""report.html: a run on one page that opens from disk, with everything in it."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from .curves import chart
from .pace import duration

PICTURE_WIDTH = 960  # pixels of a side-by-side picture in the page
CURVES = (
    ("train/loss", "training loss", False),
    ("test/psnr", "held-out PSNR, dB", True),
    ("test/ssim", "held-out SSIM", True),
    ("gaussians", "Gaussians", False),
)


@dataclass(frozen=True)
class Report:
    """What the page says. Every text is escaped when it is written.

    title     of the page; subtitle: one line below it
    facts     the data report: (key, text, is it a warning)
    map       the capture from above, as SVG
    metrics   as in metrics.json
    rows      of metrics.jsonl
    pictures  (caption, picture file: photo left, render right)
    files     (name relative to the page, bytes, note)
    settings  the config as plain values
    versions  name -> version
    """

    title: str
    subtitle: str = ""
    facts: Sequence[tuple[str, str, bool]] = ()
    map: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ()
    pictures: Sequence[tuple[str, Path]] = ()
    files: Sequence[tuple[str, int, str]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def write(path: Path, report: Report) -> Path:
    """Write the page; atomic."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(html(report), encoding="utf-8")
    os.replace(temporary, path)
    return path


def html(report: Report) -> str:
    """The page as text."""
    sections = [
        ("", _headline(report.metrics)),
        ("Pictures", "".join(_picture(name, file) for name, file in report.pictures)),
        ("Held-out views", _views(report.metrics)),
        ("Training", _curves(report.rows)),
        ("Files", _files(report.files)),
        ("Capture", _map(report.map) + _facts(report.facts)),
        ("Settings", _settings(report.settings)),
        ("Versions", _pairs(report.versions)),
    ]
    body = "".join(_section(title, text) for title, text in sections if text)
    return PAGE.format(title=escape(report.title), subtitle=escape(report.subtitle), body=body, style=STYLE)


def _section(title: str, body: str) -> str:
    heading = f"<h2>{escape(title)}</h2>" if title else ""
    if title in ("Settings", "Versions"):
        return f"<section><details><summary>{escape(title)}</summary>{body}</details></section>"
    return f"<section>{heading}{body}</section>"


def _headline(metrics: Mapping[str, Any]) -> str:
    """The few numbers that one looks for first."""
    test, train = metrics.get("test") or {}, metrics.get("train") or {}
    cards = [
        ("PSNR", _value(test.get("psnr"), "{:.2f} dB")),
        ("SSIM", _value(test.get("ssim"), "{:.4f}")),
        ("LPIPS", _value(test.get("lpips"), "{:.4f}")),
        ("Gaussians", _value(metrics.get("gaussians"), "{:,}")),
        ("steps", _value(train.get("steps"), "{:,}")),
        ("training", duration(train["seconds"]) if _number(train.get("seconds")) else ""),
    ]
    note = f"<p>{escape(str(test['note']))}</p>" if test.get("note") else ""
    shown = "".join(f"<div><b>{escape(text)}</b><span>{escape(name)}</span></div>" for name, text in cards if text)
    return (f'<div class="cards">{shown}</div>' if shown else "") + note


def _views(metrics: Mapping[str, Any]) -> str:
    test = metrics.get("test") or {}
    views = test.get("views") or []
    if not views:
        return ""
    columns = list(dict.fromkeys(key for view in views for key in view))
    mean = {"name": "mean", **{c: _mean([v.get(c) for v in views]) for c in columns if c != "name"}}
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    rows = [_row(view, columns) for view in views]
    table = f"<table><tr>{head}</tr>{''.join(rows)}{_row(mean, columns, 'mean')}</table>"
    return table + _aligned(metrics) + _notes(metrics)


def _mean(values: Sequence[Any]) -> float | None:
    """None where a view lacks the score."""
    return sum(values) / len(values) if all(map(_number, values)) else None


def _score(column: str, value: Any) -> str:
    """Digits that mean something: hundredths of a decibel, milliseconds, ten-thousandths of the rest."""
    if not isinstance(value, float):
        return _cell(value)
    return f"{value:.{2 if 'psnr' in column else 3 if column == 'seconds' else 4}f}"


def _aligned(metrics: Mapping[str, Any]) -> str:
    """Means after something was aligned to the held-out photos, never mixed with the others."""
    names = {"test_color_aligned": "with colours aligned", "test_pose_aligned": "with poses aligned"}
    lines = [
        f"<p>{title}: PSNR {_value(node.get('psnr'), '{:.2f} dB')}, SSIM {_value(node.get('ssim'), '{:.4f}')}</p>"
        for key, title in names.items()
        if (node := metrics.get(key))
    ]
    return "".join(lines)


def _row(view: Mapping[str, Any], columns: Sequence[str], kind: str = "") -> str:
    cells = "".join(f"<td>{escape(_score(c, view.get(c)))}</td>" for c in columns)
    return f'<tr class="{kind}">{cells}</tr>' if kind else f"<tr>{cells}</tr>"


def _notes(metrics: Mapping[str, Any]) -> str:
    """What one has to know to compare these numbers with others'."""
    test = metrics.get("test") or {}
    size = metrics.get("resolution")
    notes = [
        "PSNR is the mean over images, SSIM follows torchmetrics (11 x 11 Gaussian window, reflected border).",
        f"Pictures are {size[0]} x {size[1]}." if size else "",
        f"Alignment: {metrics['alignment']}." if metrics.get("alignment") else "",
        f"LPIPS: {test['lpips_note']}." if test.get("lpips") is None and test.get("lpips_note") else "",
    ]
    return f"<p class='note'>{escape(' '.join(filter(None, notes)))}</p>"


def _curves(rows: Sequence[Mapping[str, Any]]) -> str:
    drawn = []
    for key, title, marks in CURVES:
        points = [(float(r["step"]), float(r[key])) for r in rows if _number(r.get("step")) and _number(r.get(key))]
        drawn.append(chart(title, points, marks))
    return f'<div class="charts">{"".join(drawn)}</div>' if any(drawn) else ""


def _picture(name: str, file: Path) -> str:
    try:
        data = _jpeg(file)
    except OSError:
        return ""
    source = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
    return f'<figure><img src="{source}" alt="{escape(name)}" loading="lazy"><figcaption>{escape(name)}</figcaption></figure>'


def _jpeg(file: Path) -> bytes:
    from PIL import Image

    with Image.open(file) as opened:
        picture = opened.convert("RGB")
    picture.thumbnail((PICTURE_WIDTH, PICTURE_WIDTH))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=88)
    return out.getvalue()


def _files(files: Sequence[tuple[str, int, str]]) -> str:
    rows = [
        f'<tr><td><a href="{escape(name)}">{escape(name)}</a></td><td>{size / 1e6:.1f} MB</td><td>{escape(note)}</td></tr>'
        for name, size, note in files
    ]
    return f"<table class='text'>{''.join(rows)}</table>" if rows else ""


def _facts(facts: Sequence[tuple[str, str, bool]]) -> str:
    rows = [
        f"<tr{' class=warning' if warning else ''}><td>{escape(key)}</td><td>{escape(text)}</td></tr>"
        for key, text, warning in facts
    ]
    return f"<table class='text'>{''.join(rows)}</table>" if rows else ""


def _map(drawing: str) -> str:
    legend = "Sparse points and cameras from above; held-out photos in the other colour."
    return f"<figure>{drawing}<figcaption>{legend}</figcaption></figure>" if drawing else ""


def _settings(settings: Mapping[str, Any]) -> str:
    return _pairs(dict(_flat(settings)))


def _flat(node: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in node.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return pairs


def _pairs(pairs: Mapping[str, Any]) -> str:
    rows = [f"<tr><td>{escape(str(k))}</td><td>{escape(_cell(v))}</td></tr>" for k, v in pairs.items()]
    return f"<table class='text'>{''.join(rows)}</table>" if rows else ""


def _cell(value: Any) -> str:
    if value is None:
        return "n/a"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _value(value: Any, form: str) -> str:
    return form.format(value) if _number(value) else ""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #69727d; --line: #e2e5e9; --back: #fbfbfa; --card: #fff;
  --hue: #2f6f8f; --warn: #a35a00 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --soft: #98a1ab; --line: #2d3238; --back: #15181b; --card: #1d2125;
    --hue: #7cc0df; --warn: #e3a44b } }
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
main { max-width: 1000px; margin: 0 auto; padding: 40px 20px 80px }
h1 { font-size: 28px; margin: 0; letter-spacing: -.01em } h2 { font-size: 17px; margin: 40px 0 12px }
.subtitle, .note, figcaption { color: var(--soft) } .note { font-size: 13px }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; margin-top: 24px }
.cards div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px }
.cards b { display: block; font-size: 21px; font-variant-numeric: tabular-nums } .cards span { color: var(--soft); font-size: 13px }
figure { margin: 0 0 18px } img { max-width: 100%; max-height: 520px; border-radius: 8px; display: block }
figcaption { font-size: 13px; margin-top: 4px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px }
th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
th { color: var(--soft); font-weight: 500 } th:first-child, td:first-child, .text td { text-align: left; vertical-align: top }
.text td:first-child { white-space: nowrap; color: var(--soft) } tr.mean td { font-weight: 600 } tr.warning td { color: var(--warn) }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 14px }
svg { width: 100%; background: var(--card); border: 1px solid var(--line); border-radius: 10px }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft) } svg .title { font-size: 13px; fill: var(--ink) }
.grid { stroke: var(--line) } .curve { fill: none; stroke: var(--hue); stroke-width: 1.6 } circle { fill: var(--hue) }
.top { background: #17191c } .dots { fill: none; stroke-width: 3; stroke-linecap: round }
.camera polygon { fill: #7cc0df44; stroke: #7cc0df } .held polygon { fill: #ffc46b55; stroke: #ffc46b }
.camera circle { fill: #7cc0df } .held circle { fill: #ffc46b }
a { color: var(--hue) } summary { cursor: pointer; font-size: 17px; font-weight: 600; margin: 28px 0 12px }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body><main><h1>{title}</h1><div class="subtitle">{subtitle}</div>{body}</main></body></html>
"""
