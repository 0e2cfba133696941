"""Surgery: what is kept per Gaussian moves together, and splitting draws from the Gaussian itself."""

import math

import torch
from sceneloom.pipelines.optimizer import Adam
from sceneloom.pipelines.strategies import surgery
from sceneloom.pipelines.strategies.protocol import Rows
from sceneloom.renderers.splats.model import Splats


def params(n: int, seed: int = 0) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    shapes = {"means": (3,), "quats": (4,), "log_scales": (3,), "logits": (), "sh": (4, 3)}
    return {k: torch.randn((n, *s), generator=g) for k, s in shapes.items()}


def rows_with_marks(n: int) -> Rows:
    model = Splats(params(n))
    adam = Adam(model.params())
    for moments in (adam.first, adam.second):
        for name, m in moments.items():
            moments[name] = m + torch.arange(1.0, n + 1).reshape([-1] + [1] * (m.dim() - 1))
    return Rows.of(model, adam)


def test_duplicate_and_prune_keep_rows_moments_and_ids_together():
    rows = rows_with_marks(5)
    old = {k: v.detach().clone() for k, v in rows.model.params().items()}
    rows.apply(*surgery.duplicate(old, torch.tensor([1, 3])))
    assert rows.ids.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert rows.optimizer.first["logits"].tolist() == [1, 2, 3, 4, 5, 0, 0]
    torch.testing.assert_close(rows.model.params()["sh"][5:].detach(), old["sh"][[1, 3]])
    now = {k: v.detach() for k, v in rows.model.params().items()}
    rows.apply(*surgery.prune(now, torch.tensor([True, False, True, True, False, True, False])))
    assert rows.ids.tolist() == [0, 2, 3, 5]
    assert rows.optimizer.second["means"][:, 0].tolist() == [1, 3, 4, 0]
    rows.apply(*surgery.duplicate({k: v.detach() for k, v in rows.model.params().items()}, torch.tensor([0])))
    assert rows.ids.tolist() == [0, 2, 3, 5, 7], "an id is never given twice"


def test_split_children_are_drawn_along_the_axes_and_shrunk():
    p = params(2)
    half = math.sqrt(0.5)
    p["quats"][1] = torch.tensor([half, 0, 0, half]) * 3  # 90 degrees about z, not normalised
    p["log_scales"][1] = torch.tensor([2.0, 0.5, 0.1]).log()
    noise = torch.zeros(2, 1, 3)
    noise[0, 0, 0], noise[1, 0, 1] = 1.0, -1.0
    change, new = surgery.split(p, torch.tensor([1]), noise)
    assert change.source.tolist() == [0, 1, 1]
    assert change.fresh.tolist() == [False, True, True]
    # The x axis of the Gaussian points along y of the world, its y axis along -x.
    torch.testing.assert_close(new["means"][1] - p["means"][1], torch.tensor([0.0, 2.0, 0.0]), atol=1e-6, rtol=0)
    torch.testing.assert_close(new["means"][2] - p["means"][1], torch.tensor([0.5, 0.0, 0.0]), atol=1e-6, rtol=0)
    torch.testing.assert_close(new["log_scales"][1:].exp(), p["log_scales"][[1, 1]].exp() / 1.6)
    torch.testing.assert_close(new["means"][0], p["means"][0])


def test_nothing_to_do_changes_nothing():
    p = params(3)
    none = torch.zeros(0, dtype=torch.int64)
    for change, new in (surgery.duplicate(p, none), surgery.split(p, none, torch.zeros(2, 0, 3))):
        assert not change.fresh.any()
        for name in p:
            torch.testing.assert_close(new[name], p[name])
