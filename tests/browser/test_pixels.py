"""The page draws what our renderer draws: headless Chromium against a dense float64 reference and the CPU back end."""

import base64
from pathlib import Path

import numpy as np
import pytest
from sceneloom.data.gaussians import Gaussians
from sceneloom.data.scene import Camera
from sceneloom.viewer.page import write_page

from ..viewer.dense_splats import picture, psnr
from ..viewer.page_scene import camera_at, cloud

pytestmark = pytest.mark.browser
BACKGROUND = (0.2, 0.5, 0.8)
VIEWS = [
    camera_at((0.3, -0.4, -3.0)),
    camera_at((2.4, 0.6, 1.7), roll=0.7),
    camera_at((-0.2, -2.9, 0.3), focal=90.0),
    camera_at((0.1, 0.05, -0.3), target=(0, 0, 1), focal=100.0),  # within the cloud: clamped Jacobians, near plane
    camera_at((-1.8, 0.4, -1.9), width=128, height=160, cx=50.0, cy=100.0),
]


def pixels(page, camera: Camera) -> np.ndarray:
    K = camera.K
    given = {
        "viewmat": camera.world_to_camera.ravel().tolist(),
        **{"fx": K[0, 0], "fy": K[1, 1], "cx": K[0, 2], "cy": K[1, 2]},
        **{"width": camera.width, "height": camera.height},
    }
    width, height, data = page.evaluate(
        """async (camera) => {
          sceneloom.setCamera(camera);
          await sceneloom.renderOnce();
          const { width, height, data } = sceneloom.readPixels();
          let text = "";
          for (const byte of data) text += String.fromCharCode(byte);
          return [width, height, btoa(text)];
        }""",
        given,
    )
    assert (width, height) == (camera.width, camera.height)
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[..., :3] / 255


@pytest.fixture(scope="module")
def splats() -> Gaussians:
    return cloud(900)


def test_five_views_at_degree_three(open_page, splats: Gaussians, tmp_path: Path, record_property):
    write_page(tmp_path / "viewer.html", splats, background=BACKGROUND)
    page = open_page(tmp_path / "viewer.html")
    found = [psnr(pixels(page, view), picture(splats, view, BACKGROUND)) for view in VIEWS]
    record_property("psnr", [round(x, 1) for x in found])
    assert min(found) >= 40, found


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_lower_degrees(open_page, tmp_path: Path, degree: int):
    g = cloud(400, degree, seed=degree)
    write_page(tmp_path / "viewer.html", g, background=BACKGROUND)
    assert psnr(pixels(open_page(tmp_path / "viewer.html"), VIEWS[1]), picture(g, VIEWS[1], BACKGROUND)) >= 40


def test_antialiased_opacity(open_page, tmp_path: Path):
    g = cloud(400)
    g.log_scales[:] -= 2  # far below a pixel, where it matters
    write_page(tmp_path / "viewer.html", g, background=BACKGROUND, antialiased=True)
    drawn = pixels(open_page(tmp_path / "viewer.html"), VIEWS[0])
    assert psnr(drawn, picture(g, VIEWS[0], BACKGROUND, antialiased=True)) >= 40
    assert psnr(drawn, picture(g, VIEWS[0], BACKGROUND)) < 35


def test_our_cpu_back_end_draws_the_same(open_page, splats: Gaussians, tmp_path: Path):
    import torch
    from sceneloom.renderers.splats.cpu import rasterization

    write_page(tmp_path / "viewer.html", splats, background=BACKGROUND)
    drawn = pixels(open_page(tmp_path / "viewer.html"), VIEWS[0])
    colours, _, _ = rasterization(
        *(torch.from_numpy(x) for x in (splats.means, splats.quats, np.exp(splats.log_scales))),
        torch.sigmoid(torch.from_numpy(splats.logits)),
        torch.from_numpy(splats.sh),
        torch.from_numpy(VIEWS[0].world_to_camera).float()[None],
        torch.from_numpy(VIEWS[0].K).float()[None],
        VIEWS[0].width,
        VIEWS[0].height,
        sh_degree=3,
        backgrounds=torch.tensor(BACKGROUND)[None],
    )
    assert psnr(drawn, colours[0].numpy()) >= 40


def test_two_blocks_draw_like_one(open_page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Blocks of whole texture rows; a page of several decodes them in order and sorts across them."""
    from sceneloom.viewer import payload

    monkeypatch.setattr(payload, "BLOCK", 2048)
    g = cloud(2300, degree=1)
    g.log_scales[:] -= 0.7
    write_page(tmp_path / "viewer.html", g, background=BACKGROUND)
    assert psnr(pixels(open_page(tmp_path / "viewer.html"), VIEWS[2]), picture(g, VIEWS[2], BACKGROUND)) >= 40
