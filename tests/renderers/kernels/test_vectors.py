"""Vector types against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from sceneloom.renderers.kernels import groups
from sceneloom.renderers.kernels.jit import kernel
from sceneloom.renderers.kernels.simd import (
    LANES,
    any_of,
    claim,
    load,
    lowest_bit,
    maximum,
    minimum,
    muladd,
    select,
    store,
    veci,
)
from sceneloom.renderers.kernels.vecmath import exp2, log2, vabs, vceil, vfloor, vsqrt


@kernel
def _elementwise(a, b, out):
    for i in range(0, len(a), LANES):
        x, y = load(a, i), load(b, i)
        store(out[0], i, x + y)
        store(out[1], i, x - y * 2.0)
        store(out[2], i, x / y)
        store(out[3], i, -muladd(x, y, 1.0))
        store(out[4], i, minimum(x, y))
        store(out[5], i, maximum(x, 0.25))
        store(out[6], i, select((x < y) & (x > 0.0), x, 7.0))
        store(out[7], i, vfloor(x) + vceil(y) + vabs(x))


@kernel
def _functions(x, out):
    for i in range(0, len(x), LANES):
        store(out[0], i, exp2(load(x, i)))
        store(out[1], i, log2(exp2(load(x, i))))
        store(out[2], i, vsqrt(vabs(load(x, i))))


@kernel
def _columns(table, out, sums, again):
    for i in range(0, len(table), LANES):
        a, b, c = groups.load_columns(table, 3 * i, 3)
        groups.store_columns(out, 3 * i, (c, a, b))
        groups.store_lane_sums(sums, i // LANES * 2 * LANES, (a, b, c, a * b))
        groups.add_lane_sums(again, 0, (a, b, c), i > 0)


@kernel
def _rows(table, out):
    a, b, c = groups.load_columns(table, 0, 3)
    groups.store_rows(out, 0, 2 * LANES, (a, b, c))


@kernel
def _bytes(pixels, out):
    store(out, 0, load(pixels, 0))


@kernel
def _bits(numbers, out):
    for i in range(len(numbers)):
        out[i] = lowest_bit(numbers[i])


@kernel
def _masks(x, out):
    out[0] = any_of(load(x, 0) > 0.5)
    out[1] = any_of(load(x, 0) > 1.5)
    out[2] = any_of(veci(3) > veci(2))


@kernel
def _claims(counter, blocks, seen):
    while True:
        block = claim(counter)
        if block >= blocks:
            return
        seen[block] += 1


@pytest.fixture
def numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=8 * LANES).astype(np.float32), (rng.normal(size=8 * LANES) + 3).astype(np.float32)


def test_arithmetic_is_numpys(numbers: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = numbers
    out = np.zeros((8, len(x)), np.float32)
    _elementwise(x, y, out)
    wanted = [
        x + y, x - y * 2, x / y, -(x * y + 1), np.minimum(x, y), np.maximum(x, np.float32(0.25)),
        np.where((x < y) & (x > 0), x, 7), np.floor(x) + np.ceil(y) + np.abs(x),
    ]  # fmt: skip
    np.testing.assert_allclose(out, wanted, rtol=3e-7, atol=3e-7)
    np.testing.assert_array_equal(out[2], x / y)  # divisions are exact on every machine


def test_exp2_and_log2_hold_their_bounds() -> None:
    x = np.linspace(-125, 125, 4096 * LANES).astype(np.float32)
    out = np.zeros((3, len(x)), np.float32)
    _functions(x, out)
    exact = np.exp2(x.astype(np.float64))
    assert np.abs(out[0] / exact - 1).max() < 2.4e-7
    assert np.abs(out[1] - np.log2(out[0].astype(np.float64))).max() < 1e-5
    near = np.abs(x) < 1
    assert np.abs(out[1] - np.log2(out[0].astype(np.float64)))[near].max() < 2e-7
    np.testing.assert_allclose(out[2], np.sqrt(np.abs(x)), rtol=2e-7)


def test_columns_and_sums() -> None:
    table = np.random.default_rng(1).normal(size=(3 * LANES, 3)).astype(np.float32)
    out, sums = np.zeros_like(table), np.zeros((3, 2 * LANES), np.float32)
    again = np.full(LANES, np.nan, np.float32)
    _columns(table, out, sums, again)
    np.testing.assert_array_equal(out, table[:, [2, 0, 1]])
    blocks = table.reshape(3, LANES, 3).astype(np.float64)
    wanted = np.concatenate([blocks.sum(1), (blocks[..., 0] * blocks[..., 1]).sum(1)[:, None]], 1)
    np.testing.assert_allclose(sums[:, :4], wanted, atol=1e-5)
    assert not sums[:, 4:].any()
    np.testing.assert_allclose(again[:3], table.sum(0, dtype=np.float64), atol=1e-5)  # what was there was forgotten


def test_rows_are_transposed_and_filled_with_zeros() -> None:
    table = np.random.default_rng(2).normal(size=(LANES, 3)).astype(np.float32)
    out = np.full((LANES, 2 * LANES), 9, np.float32)
    _rows(table, out)
    np.testing.assert_array_equal(out[:, :3], table)
    assert not out[:, 3:LANES].any()
    assert (out[:, LANES:] == 9).all()


def test_bytes_masks_bits_and_claims() -> None:
    pixels, out = np.arange(LANES, dtype=np.uint8) + np.uint8(230), np.zeros(LANES, np.float32)
    _bytes(pixels, out)
    np.testing.assert_array_equal(out, pixels.astype(np.float32))
    x, flags = np.zeros(LANES, np.float32), np.zeros(3, np.bool_)
    x[-1] = 1
    _masks(x, flags)
    assert flags.tolist() == [True, False, True]
    numbers, where = np.array([1, 8, 1 << 63, 12], np.uint64), np.zeros(4, np.int64)
    _bits(numbers, where)
    assert where.tolist() == [0, 3, 63, 2]
    seen = np.zeros(10, np.int64)
    _claims(np.zeros(1, np.int64), 10, seen)
    assert (seen == 1).all()


def test_code_is_vectorised() -> None:
    """On x86 the emitted code works on whole vectors."""
    _functions(np.zeros(LANES, np.float32), np.zeros((3, LANES), np.float32))
    code = next(iter(_functions.inspect_asm().values()))
    if "xmm" not in code:
        pytest.skip("not x86")
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    assert ("zmm" if LANES == 16 else "ymm" if features.get("avx2") else "xmm") in code
    assert "expf" not in code
