"""A headless Chromium that draws WebGL2 in software, shared by the browser tests; they skip where there is none."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="session")
def browser() -> Iterator:
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium found")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=[*ARGUMENTS, "--ignore-gpu-blocklist"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser) -> Iterator[Callable]:
    """open_page(path, link="", ready=True, **context options) -> page; console errors and requests fail the test."""
    contexts, troubles = [], []

    def opened(path: Path, link: str = "", ready: bool = True, **options):
        context = browser.new_context(
            **{"viewport": {"width": 320, "height": 240}, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: troubles.append(str(e)))
        page.on(
            "request", lambda r: troubles.append(r.url) if not r.url.startswith(("file:", "blob:", "data:")) else None
        )
        page.goto(path.as_uri() + link)
        if ready:
            page.evaluate("sceneloom.ready")
        return page

    yield opened
    for context in contexts:
        context.close()
    # Software rendering makes readPixels slow, and Chromium says so.
    assert [t for t in troubles if "GPU stall due to ReadPixels" not in t] == []
