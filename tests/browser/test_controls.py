"""The page in the hand: mouse, wheel, touch, keys, cameras, links, sizes, and what a browser without WebGL2 is told."""

import time
from pathlib import Path

import numpy as np
import pytest
from sceneloom.viewer.page import write_page

from ..viewer.page_scene import cloud, ring

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "my scene é #1.html"
    write_page(path, cloud(300, degree=1), ring(), title="A <b>scene</b>", background=(0.1, 0.1, 0.1))
    return path


def wait(page, condition: str) -> None:
    """Poll from outside: the page's own policy forbids the eval that playwright's waiting needs."""
    deadline = time.monotonic() + 15
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"waited in vain for {condition}"
        page.wait_for_timeout(30)


def state(page) -> dict:
    wait(page, "sceneloom.state().still")
    found = page.evaluate("sceneloom.state()")
    m = np.array(found["viewmat"]).reshape(4, 4)
    found["eye"] = -m[:3, :3].T @ m[:3, 3]
    found["turn"], found["target"] = m[:3, :3], found["eye"] + found["distance"] * m[2, :3]
    return found


def test_it_opens_at_the_first_camera_and_orbits_what_lies_ahead(open_page, path: Path):
    page = open_page(path)
    now = state(page)
    first = ring()[0].camera
    np.testing.assert_allclose(now["viewmat"], first.world_to_camera.ravel(), atol=1e-6)
    assert 1.0 < now["distance"] < 4.5  # the cloud is three units away
    assert now["camera"] == 0
    assert page.title() == "A <b>scene</b>"
    assert page.inner_text("h1") == "A <b>scene</b>"
    assert "photos/00.jpg" in page.inner_text("#where")
    assert "300 splats" in page.inner_text("#stats")


def test_drag_orbits_around_the_target(open_page, path: Path):
    page = open_page(path)
    before = state(page)
    page.mouse.move(160, 120)
    page.mouse.down()
    page.mouse.move(220, 140, steps=4)
    page.mouse.up()
    after = state(page)
    np.testing.assert_allclose(after["target"], before["target"], atol=1e-3)
    assert after["distance"] == pytest.approx(before["distance"], rel=1e-5)
    # The scene follows the hand: the camera goes to its left and, dragging down, up.
    moved = before["turn"] @ (after["eye"] - before["eye"])
    assert moved[0] < -0.3
    assert moved[1] < -0.05
    assert after["camera"] == -1


def test_right_drag_pans_and_the_wheel_zooms(open_page, path: Path):
    page = open_page(path)
    before = state(page)
    page.mouse.move(160, 120)
    page.mouse.down(button="right")
    page.mouse.move(190, 120, steps=3)
    page.mouse.up(button="right")
    panned = state(page)
    np.testing.assert_allclose(panned["turn"], before["turn"], atol=1e-5)
    assert (before["turn"] @ (panned["eye"] - before["eye"]))[0] < -0.1
    page.mouse.wheel(0, -200)
    near = state(page)
    assert near["distance"] == pytest.approx(panned["distance"] * np.exp(-0.3), rel=1e-3)
    np.testing.assert_allclose(near["target"], panned["target"], atol=1e-4)


def test_orbiting_stops_short_of_the_pole_and_stays_level(open_page, path: Path):
    page = open_page(path)
    up = -np.mean([c.camera.world_to_camera[1, :3] for c in ring()], 0)
    up /= np.linalg.norm(up)
    for _ in range(6):
        page.mouse.move(160, 20)
        page.mouse.down()
        page.mouse.move(160, 220, steps=3)
        page.mouse.up()
    after = state(page)
    assert 0.9 < -after["turn"][2] @ up < 0.9999  # looks down, not over the top
    assert abs(after["turn"][0] @ up) < 1e-3  # the horizon is level


def test_double_click_focuses_on_what_is_there(open_page, path: Path):
    page = open_page(path)
    before = state(page)
    page.mouse.dblclick(180, 110)
    after = state(page)
    np.testing.assert_allclose(after["eye"], before["eye"], atol=1e-3)
    ray = before["turn"].T @ ((180 - 160) / 1, 0, 0)
    assert (after["turn"][2] - before["turn"][2]) @ ray > 0  # turned to the right
    assert np.linalg.norm(after["target"]) < 2.5


def test_keys_walk_turn_and_come_back(open_page, path: Path):
    page = open_page(path)
    before = state(page)
    page.keyboard.down("w")
    page.wait_for_timeout(250)
    page.keyboard.up("w")
    walked = state(page)
    assert (before["turn"] @ (walked["eye"] - before["eye"]))[2] > 0.05
    assert walked["mode"] == "fly"
    page.keyboard.down("ArrowRight")
    page.wait_for_timeout(250)
    page.keyboard.up("ArrowRight")
    turned = state(page)
    np.testing.assert_allclose(turned["eye"], walked["eye"], atol=1e-3)
    assert turned["turn"][2] @ walked["turn"][0] > 0.02
    page.keyboard.press("r")
    back = state(page)
    np.testing.assert_allclose(back["viewmat"], before["viewmat"], atol=1e-4)
    assert back["mode"] == "orbit"


def test_cameras_by_key_by_strip_and_compared_with_their_photo(open_page, path: Path):
    page = open_page(path)
    page.keyboard.press("]")
    assert state(page)["camera"] == 1
    np.testing.assert_allclose(state(page)["viewmat"], ring()[1].camera.world_to_camera.ravel(), atol=1e-5)
    page.keyboard.press("[")
    page.keyboard.press("[")
    assert state(page)["camera"] == 4
    page.keyboard.press("l")
    page.click("#strip button:nth-child(3)")
    assert state(page)["camera"] == 2
    page.keyboard.press("l")
    page.keyboard.press("p")
    box = page.locator("#compare").bounding_box()
    # The photo covers what the camera saw: a 160 x 120 picture in a window of the same shape.
    assert [box[k] for k in ("x", "y", "width", "height")] == pytest.approx([0, 0, 320, 240], abs=1)
    handle = page.locator(".divider")
    handle.focus()
    page.keyboard.press("ArrowRight")
    assert handle.get_attribute("aria-valuenow") == "52"
    page.mouse.move(0.52 * 320, 120)
    page.mouse.down()
    page.mouse.move(80, 120, steps=2)
    page.mouse.up()
    assert int(handle.get_attribute("aria-valuenow")) == pytest.approx(25, abs=1)
    page.mouse.wheel(0, 100)
    wait(page, "sceneloom.state().camera === -1")
    assert page.locator("#compare").is_hidden()


def test_touch_orbits_pinches_and_pans_at_phone_size(open_page, path: Path):
    page = open_page(
        path, viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    for name in ("strip", "mode", "help"):
        box = page.locator(f'[data-do="{name}"]').bounding_box()
        assert 0 <= box["x"] <= 390 - box["width"]
        assert box["height"] >= 36
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *points: tuple[float, float]) -> None:
        where = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})

    before = state(page)
    assert (before["width"], before["height"]) == (780, 1400)
    fingers("touchStart", (200, 300))
    fingers("touchMove", (240, 300))
    fingers("touchMove", (280, 300))
    fingers("touchEnd")
    orbited = state(page)
    np.testing.assert_allclose(orbited["target"], before["target"], atol=1e-3)
    assert np.linalg.norm(orbited["eye"] - before["eye"]) > 0.2
    fingers("touchStart", (180, 300), (220, 300))
    fingers("touchMove", (150, 300), (250, 300))
    fingers("touchMove", (120, 300), (280, 300))
    fingers("touchEnd")
    pinched = state(page)
    assert pinched["distance"] < 0.7 * orbited["distance"]
    fingers("touchStart", (180, 300), (220, 300))
    fingers("touchMove", (180, 330), (220, 330))
    fingers("touchMove", (180, 380), (220, 380))
    fingers("touchEnd")
    panned = state(page)
    assert panned["distance"] == pytest.approx(pinched["distance"], rel=1e-3)
    assert (pinched["turn"] @ (panned["eye"] - pinched["eye"]))[1] < -0.05


def test_resizing_refits_the_picture(open_page, path: Path):
    page = open_page(path)
    page.set_viewport_size({"width": 500, "height": 260})
    wait(page, "sceneloom.state().width === 500 && sceneloom.state().height === 260")
    filled = page.evaluate(
        "(() => { const { data } = sceneloom.readPixels(); let n = 0; for (const x of data) n += x > 60; return n; })()"
    )
    assert filled > 500 * 260  # beyond the alpha bytes: the cloud is drawn


def test_the_address_keeps_the_view(open_page, path: Path):
    page = open_page(path)
    assert "#" not in page.url.replace("%23", "")
    page.mouse.move(160, 120)
    page.mouse.down()
    page.mouse.move(100, 90, steps=3)
    page.mouse.up()
    here = state(page)
    wait(page, "sceneloom.state().linked && location.hash.startsWith('#view=')")
    link = "#" + page.url.split("#")[1]
    again = open_page(path, link)
    np.testing.assert_allclose(state(again)["viewmat"], here["viewmat"], atol=1e-4)
    odd = open_page(path, "#view=1,2,nan,<script>")
    np.testing.assert_allclose(state(odd)["viewmat"], ring()[0].camera.world_to_camera.ravel(), atol=1e-6)


def test_help_picture_and_a_bare_screen(open_page, path: Path):
    page = open_page(path)
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()
    with page.expect_download() as download:
        page.keyboard.press("i")
    assert download.value.suggested_filename == "A-b-scene-b.png"
    page.keyboard.press("h")
    wait(page, "getComputedStyle(document.querySelector('.bar')).visibility === 'hidden'")
    for key in ("2", "3", "1"):
        page.keyboard.press(key)


def test_the_keyboard_alone_reaches_every_control(open_page, path: Path):
    page = open_page(path, viewport={"width": 600, "height": 200})
    reached = set()
    for _ in range(16):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset?.do || document.activeElement.id"))
    assert {"canvas", "previous", "strip", "next", "mode", "reset", "picture", "fullscreen", "help"} <= reached
    labels = page.eval_on_selector_all("[data-do]", "all => all.map((e) => e.ariaLabel)")
    assert all(labels)
    assert len(set(labels)) == len(labels)


def test_a_scene_without_cameras_is_framed(open_page, tmp_path: Path):
    write_page(tmp_path / "v.html", cloud(200, degree=0))
    page = open_page(tmp_path / "v.html")
    now = state(page)
    assert 1 < np.linalg.norm(now["eye"]) < 6
    np.testing.assert_allclose(now["turn"][2] @ now["eye"] / np.linalg.norm(now["eye"]), -1, atol=0.05)
    assert page.locator("#camera-group").is_hidden()


def test_without_webgl2_it_says_so(browser, path: Path):
    page = browser.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(path.as_uri())
    assert "needs WebGL 2" in page.inner_text("#message")
    page.close()


def test_a_damaged_page_says_so(open_page, path: Path, tmp_path: Path):
    text = path.read_text(encoding="utf-8")
    at = text.index('class="block">') + 400
    (tmp_path / "cut.html").write_text(text[:at] + "AAAA" + text[at + 40 :], encoding="utf-8")
    page = open_page(tmp_path / "cut.html", ready=False)
    page.wait_for_selector("#message:not([hidden])")
    assert "could not be unpacked" in page.inner_text("#message")
