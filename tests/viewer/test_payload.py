"""What the page's payload holds, decoded here independently of the page, against the splats that went in."""

import base64
import zlib

import numpy as np
import pytest
from sceneloom.data.formats.quantised import sigmoid
from sceneloom.data.gaussians import Gaussians
from sceneloom.viewer import payload
from sceneloom.viewer.payload import importance_order, morton_order, pack

from ..data.formats.random_splats import random_splats, turn_between


def unpack(text: str, n: int, degree: int, reach: tuple[float, ...]) -> Gaussians:
    data = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    chunks, k = -(-n // 256), (degree + 1) ** 2
    assert len(data) == 24 * chunks + n * (26 + 3 * (k - 1))
    boxes = data[: 24 * chunks].view("<f4").reshape(chunks, 6)
    planes = data[24 * chunks :].reshape(-1, n)
    words = (planes[0:26:2].astype(np.uint16) | planes[1:26:2].astype(np.uint16) << 8).T
    low, high = boxes[:, :3].repeat(256, 0)[:n], boxes[:, 3:].repeat(256, 0)[:n]
    largest = (words[:, 3] >> 15) | (words[:, 4] >> 15) << 1
    rest = ((words[:, 3:6] & 0x7FFF) / 32767 * 2 - 1) / 2**0.5
    quats = np.stack([np.insert(r, i, np.sqrt(max(0, 1 - r @ r))) for r, i in zip(rest, largest, strict=True)])
    halves = np.ascontiguousarray(words).view(np.float16).astype(np.float32)
    alpha = words[:, 9] / 65535
    v = (planes[26:].T.reshape(n, k - 1, 3).astype(float) - 128) / 127
    scale = np.repeat(reach, [3, 5, 7][:degree]).reshape(1, -1, 1)
    return Gaussians(
        low + words[:, :3] / 65535 * (high - low),
        quats,
        halves[:, 6:9],
        np.log(alpha / (1 - alpha)),
        np.concatenate([halves[:, None, 10:13], v * np.abs(v) * scale], 1),
    )


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_every_attribute_survives_within_its_step(degree: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(payload, "BLOCK", 512)
    g = random_splats(1300, degree)
    packed = pack(g)
    assert packed.counts == (512, 512, 276)
    order = importance_order(g)
    for i, (text, n) in enumerate(zip(packed.blocks, packed.counts, strict=True)):
        part = g.select(order[512 * i : 512 * i + n])
        part = part.select(morton_order(part.means))
        found = unpack(text, n, degree, packed.reach)
        spans = np.concatenate([np.ptp(part.means[j : j + 256], 0)[None].repeat(256, 0) for j in range(0, n, 256)])[:n]
        assert (np.abs(found.means - part.means) <= spans / 65535 * 0.51 + 1e-6).all()
        assert turn_between(found.quats, part.quats).max() < 0.01
        assert np.abs(found.log_scales - part.log_scales).max() <= 2**-9 * 2
        assert np.abs(sigmoid(found.logits) - sigmoid(part.logits)).max() <= 1e-5
        assert np.abs(found.sh[:, 0] - part.sh[:, 0]).max() <= 2**-11 * 2
        reach = np.repeat(packed.reach, [3, 5, 7][:degree]).reshape(1, -1, 1)
        rest = np.abs(part.sh[:, 1:])
        step = (
            1 / 127 * np.sqrt(rest * reach) + reach / 254**2
        )  # half a step of the square root, carried through the square
        assert (np.abs(found.sh[:, 1:] - part.sh[:, 1:]) <= step * 1.01 + 1e-7).all()


def test_the_most_visible_come_first():
    g = random_splats(200, 0)
    g.log_scales[17], g.logits[17] = 3, 10
    g.logits[18] = -12
    order = importance_order(g)
    assert order[0] == 17
    assert sorted(order) == list(range(200))
    assert list(order).index(18) > 150


def test_the_curve_keeps_neighbours_together():
    points = np.random.default_rng(0).random((4096, 3)).astype(np.float32)
    ordered = points[morton_order(points)]
    boxes = ordered.reshape(16, 256, 3)
    assert np.prod(np.ptp(boxes, axis=1), axis=1).mean() < 0.25  # a random order fills the cube: near 1


@pytest.mark.parametrize("n", [1, 255, 256, 257])
def test_sizes_at_the_edges_of_chunks_and_coinciding_splats(n: int):
    g = random_splats(n, 1)
    g.means[:] = 7
    packed = pack(g)
    np.testing.assert_allclose(unpack(packed.blocks[0], n, 1, packed.reach).means, 7)
