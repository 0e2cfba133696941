"""report.html: complete, self-contained, and nothing in it becomes markup."""

from html.parser import HTMLParser

import pytest
from PIL import Image
from sceneloom.pipelines.logs.curves import MOST_POINTS, chart, thinned, ticks
from sceneloom.pipelines.logs.report import Report, html, write

EVIL = "<script>alert('x')</script>&\"'"


class Seen(HTMLParser):
    """Tags, addresses and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]
        assert not [name for name, _ in attributes if name.startswith("on")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def full(tmp_path) -> Report:
    Image.new("RGB", (64, 32), (200, 10, 10)).save(tmp_path / "pair.png")
    views = [{"name": EVIL, "psnr": 27.5, "ssim": 0.91, "masked_psnr": 30.0}, {"name": "b", "psnr": 28.5, "ssim": 0.93}]
    return Report(
        title=EVIL,
        subtitle=EVIL,
        facts=[(EVIL, EVIL, True), ("cameras", "12 x pinhole", False)],
        metrics={
            "test_color_aligned": {"psnr": 31.25, "ssim": 0.95},
            "test": {"psnr": 28.0, "ssim": 0.92, "lpips": None, "lpips_note": EVIL, "views": views},
            "train": {"seconds": 61.0, "steps": 3000},
            "gaussians": 45678,
            "resolution": [480, 270],
            "alignment": EVIL,
        },
        rows=[
            {"step": s, "train/loss": 1 / s, "gaussians": 100 * s} | ({"test/psnr": 20.0 + s} if s % 5 == 0 else {})
            for s in range(1, 21)
        ],
        pictures=[(EVIL, tmp_path / "pair.png"), ("gone", tmp_path / "gone.png")],
        files=[("exports/scene.ply", 1_500_000, EVIL)],
        settings={"data": {"path": EVIL}, "seed": 0},
        versions={"torch": "2", "python": EVIL},
    )


def test_holds_everything_and_needs_nothing(full, tmp_path):
    page = write(tmp_path / "report.html", full).read_text(encoding="utf-8")
    seen = Seen(page)
    for wanted in (
        "28.00 dB",
        "0.9200",
        "45,678",
        "3,000",
        "1:01",
        "1.5 MB",
        "data.path",
        "480 x 270",
        "12 x pinhole",
        "n/a",
        "31.25 dB",
    ):
        assert wanted in seen.text, wanted
    assert seen.tags.count("svg") == 3  # no SSIM on the way: no chart of it
    assert [a for a in seen.addresses if not a.startswith("data:image/jpeg;base64,")] == ["exports/scene.ply"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_text_stays_text(full):
    seen = Seen(html(full))
    assert "script" not in seen.tags
    assert seen.text.count(EVIL) >= 9


def test_an_empty_run_has_a_page_too():
    seen = Seen(html(Report("nothing", metrics={"test": {"psnr": None, "note": "no held-out views"}, "train": {}})))
    assert "no held-out views" in seen.text
    assert "svg" not in seen.tags


def test_ticks_are_round_and_inside():
    assert ticks(0, 3000, 5) == [0, 1000, 2000, 3000]
    assert ticks(20.3, 27.9, 5) == [22, 24, 26]
    assert ticks(5, 5, 5) == [5]
    for low, high in [(1e-5, 3e-5), (-7, 12), (0.99991, 0.99997), (1, 1e6)]:
        found = ticks(low, high, 5)
        assert 2 <= len(found) <= 7
        assert all(low <= t <= high for t in found)


def test_long_curves_are_thinned_and_keep_their_ends():
    points = [(float(i), float(i % 7)) for i in range(30_001)]
    kept = thinned(points)
    assert len(kept) <= MOST_POINTS
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert chart("t", [(1.0, float("nan")), (2.0, 3.0)]) == ""
