"""Every view once an epoch; the order needs no state."""

from sceneloom.pipelines.view_order import ViewOrder


def test_epochs_are_balanced_and_stateless():
    order = ViewOrder(7, seed=3)
    seen = [order.view(s) for s in range(1, 7 * 5 + 1)]
    for epoch in range(5):
        assert sorted(seen[7 * epoch : 7 * epoch + 7]) == list(range(7))
    assert len({tuple(seen[7 * e : 7 * e + 7]) for e in range(5)}) > 1
    assert order.ahead(6, 4) == seen[6:10]
    assert [ViewOrder(7, 3).view(20)] == [seen[19]]
    assert [ViewOrder(7, 4).view(s) for s in range(1, 36)] != seen
