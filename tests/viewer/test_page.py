"""The page as text: one file, no network, nothing that came from outside can become markup."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sceneloom.data import files
from sceneloom.data.errors import InputError
from sceneloom.viewer import page
from sceneloom.viewer.bundle import bundle_script, script_json, static_text
from sceneloom.viewer.page import PageCamera, thumbnail, write_page

from .page_scene import camera_at, cloud, ring

NASTY = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>&\"' \u2028 {{META}} {{SCRIPT}} é"


class Outline(HTMLParser):
    """Counts tags, and keeps attributes and the text of scripts and the title."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.title, self._inside = [], [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        if self._inside == "title":
            self.title += data


def written(tmp_path: Path, **options) -> str:
    write_page(tmp_path / "viewer.html", cloud(50), **options)
    return (tmp_path / "viewer.html").read_text(encoding="utf-8")


def test_names_and_titles_cannot_become_markup(tmp_path: Path):
    plain = Outline(written(tmp_path, title="plain", cameras=ring(2)))
    cameras = [PageCamera(NASTY, c.camera, c.photo) for c in ring(2)]
    nasty = Outline(written(tmp_path, title=NASTY, cameras=cameras))
    assert nasty.tags == plain.tags
    assert nasty.title == NASTY
    meta = next(json.loads(text) for attrs, text in nasty.scripts if attrs.get("id") == "meta")
    assert meta["title"] == NASTY
    assert [c["name"] for c in meta["cameras"]] == [NASTY, NASTY]
    code = [next(text for attrs, text in o.scripts if attrs.get("type") == "module") for o in (plain, nasty)]
    assert code[0] == code[1]


def test_it_is_one_file_that_asks_for_nothing(tmp_path: Path):
    text = written(tmp_path, title="alone", cameras=ring(3))
    assert [p.name for p in tmp_path.iterdir()] == ["viewer.html"]
    assert not re.search(
        r"(?:https?:|wss?:|ftp:)?//[a-z0-9-]+\.[a-z]",
        re.sub(r"base64,[\w+/=]+|<script[^>]*block[^>]*>[\w+/=]*", "", text),
    )
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts)\b", text)
    for tag, name, value in Outline(text).attributes:
        assert name not in ("src", "href", "srcset", "data", "action"), (tag, name, value)
    assert "default-src 'none'" in text


def test_the_page_without_splats_stays_small(tmp_path: Path):
    assert len(written(tmp_path, title="small")) < 80_000


def test_json_inside_a_script_is_still_the_same_json():
    assert json.loads(script_json({"a": NASTY, "b": [1.5, None]})) == {"a": NASTY, "b": [1.5, None]}
    assert not re.search("[<>&\u2028]", script_json(NASTY))
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


def test_modules_join_into_one_scope_without_clashes():
    script = bundle_script("main.js")
    names = re.findall(r"^(?:const|let|var|function|class|async function) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names))
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert {"Viewer", "Renderer", "Controls", "Rig", "Splats", "WORKER_TEXT", "PROJECT_FRAGMENT"} <= set(names)
    for name in ("main.js", "rig.js", "renderer.js", "math.js"):
        for used in re.findall(r'from "\./([\w.]+)', static_text(name)):
            assert static_text(used)


def test_the_report_tells_size_and_what_was_left_out(tmp_path: Path):
    g = cloud(40)
    g.means[3] = np.nan
    report = write_page(tmp_path / "v.html", g)
    assert (report.splats, report.dropped, report.warnings) == (39, 1, ())
    assert report.bytes == (tmp_path / "v.html").stat().st_size


def test_large_pages_and_too_many_photos_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page, "LARGE_PAGE_BYTES", 1000)
    monkeypatch.setattr(page, "MAX_PHOTO_BYTES", 3 * len(ring(1)[0].photo or b""))
    report = write_page(tmp_path / "v.html", cloud(5), ring(9))
    assert len(report.warnings) == 2
    assert "holds 3 of 9 photos" in report.warnings[0]
    assert "train.max_gaussians" in report.warnings[1]
    assert (tmp_path / "v.html").read_text(encoding="utf-8").count("data:image/jpeg") == 3


def test_degrees_beyond_three_are_cut_and_told(tmp_path: Path):
    report = write_page(tmp_path / "v.html", cloud(5, degree=4))
    assert report.warnings == ("v.html shows SH degree 3; degree 4 of the splats is left out",)


def test_nothing_to_show_is_an_error(tmp_path: Path):
    g = cloud(2)
    g.logits[:] = np.inf
    with pytest.raises(InputError, match="none of them finite"):
        write_page(tmp_path / "v.html", g)
    with pytest.raises(InputError, match="neither JPEG, PNG nor WebP"):
        write_page(tmp_path / "v.html", cloud(2), [PageCamera("a", camera_at((0, 0, -3)), b"GIF89a")])
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "v.html").write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_page(tmp_path / "v.html", cloud(5))
    assert (tmp_path / "v.html").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["v.html"]


def test_thumbnails_keep_their_shape():
    import io

    from PIL import Image

    assert Image.open(io.BytesIO(thumbnail(np.zeros((600, 900, 3), np.uint8), 300))).size == (300, 200)
