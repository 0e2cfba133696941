"""Known answers of Philox4x32-10 (Random123 distribution, kat_vectors) and what a counter-based generator promises."""

import numpy as np
from sceneloom.data.philox import normal, permutation, philox, uniform


def test_known_answers():
    zero = philox(np.zeros((1, 4), np.uint32), (0, 0))[0]
    ones = philox(np.full((1, 4), 0xFFFFFFFF, np.uint32), (0xFFFFFFFF, 0xFFFFFFFF))[0]
    assert zero.tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert ones.tolist() == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_a_row_depends_on_its_id_alone():
    ids = np.arange(1000)
    whole = normal(7, "split", 3, ids, 3)
    np.testing.assert_array_equal(normal(7, "split", 3, ids[[5, 900, 17]], 3), whole[[5, 900, 17]])
    for other in (normal(8, "split", 3, ids, 3), normal(7, "noise", 3, ids, 3), normal(7, "split", 4, ids, 3)):
        assert not (other == whole).any()


def test_moments_and_range():
    u, z = uniform(1, "u", 0, np.arange(200_000), 2), normal(1, "n", 0, np.arange(200_000), 3)
    assert u.min() > 0
    assert u.max() < 1
    np.testing.assert_allclose(u.mean(0), 0.5, atol=5e-3)
    np.testing.assert_allclose(z.mean(0), 0.0, atol=1e-2)
    np.testing.assert_allclose(np.cov(z.T), np.eye(3), atol=1e-2)


def test_permutation_holds_everything_once():
    assert sorted(permutation(0, "views", 5, 43)) == list(range(43))
