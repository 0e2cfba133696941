"""Groups: tuples of VecF with one vector per channel (or per column of a matrix), and their way to and from memory.

How many vectors a group has is part of its type, so loops over channels are unrolled and everything stays in registers.
A kernel receives the number as a tuple of that length (`channels`, see `channels`), which Numba then compiles once per
length.

    planes     [.., n, LANES] in memory: vector k of a group holds channel k of LANES pixels
    columns    [rows, n] in memory: vector k holds column k of LANES consecutive rows (a transpose on the way)
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .simd import ARITHMETIC, LANES, VecF, as_vec, broadcast, const_f, f32, fma, i32, intrinsic, pointer, vec_f, vec_i


def channels(count: int) -> tuple[int, ...]:
    """The witness of a channel count, to be passed to kernels."""
    return (0,) * count


def _group(count: int) -> types.UniTuple:
    return types.UniTuple(VecF, count)


def _pack(context: Any, builder: Any, vectors: list) -> Any:
    return context.make_tuple(builder, _group(len(vectors)), vectors)


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(i32, len(lanes)), lanes))


# ---------------------------------------------------------------- planes


@intrinsic
def zeros(typing: Any, witness: Any) -> Any:
    """A group of zeros."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _pack(context, builder, [const_f(0.0)] * len(witness))

    return _group(len(witness))(witness), emit


@intrinsic
def spread(typing: Any, array: Any, index: Any, witness: Any) -> Any:
    """n consecutive numbers, each broadcast to a vector of its own."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], f32)
        values = [builder.load(builder.gep(first, [ir.Constant(i32, k)])) for k in range(len(witness))]
        return _pack(context, builder, [broadcast(builder, v, vec_f) for v in values])

    return _group(len(witness))(array, index, witness), emit


@intrinsic
def load_planes(typing: Any, array: Any, index: Any, witness: Any) -> Any:
    """n * LANES consecutive numbers as a group."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], vec_f)
        vectors = [builder.load(builder.gep(first, [ir.Constant(i32, k)])) for k in range(len(witness))]
        for v in vectors:
            v.align = 4
        return _pack(context, builder, vectors)

    return _group(len(witness))(array, index, witness), emit


@intrinsic
def store_planes(typing: Any, array: Any, index: Any, group: Any) -> Any:
    """The inverse of load_planes."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], vec_f)
        for k, v in enumerate(cgutils.unpack_tuple(builder, args[2])):
            builder.store(v, builder.gep(first, [ir.Constant(i32, k)])).align = 4
        return context.get_dummy_value()

    return types.none(array, index, group), emit


@intrinsic
def axpy(typing: Any, a: Any, x: Any, y: Any) -> Any:
    """a * x + y, channel by channel (a one vector, x and y groups)."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        xs, ys = (cgutils.unpack_tuple(builder, v) for v in args[1:])
        return _pack(context, builder, [fma(builder, args[0], u, v) for u, v in zip(xs, ys, strict=True)])

    return y(a, x, y), emit


@intrinsic
def dot(typing: Any, a: Any, b: Any) -> Any:
    """Sum over channels of a * b: one vector."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        xs, ys = (cgutils.unpack_tuple(builder, v) for v in args)
        total = builder.fmul(xs[0], ys[0], flags=ARITHMETIC)
        for u, v in zip(xs[1:], ys[1:], strict=True):
            total = fma(builder, u, v, total)
        return total

    return VecF(a, b), emit


# ---------------------------------------------------------------- columns


@intrinsic(prefer_literal=True)
def load_columns(typing: Any, array: Any, index: Any, count: Any) -> Any:
    """LANES rows of a [rows, count] matrix from flat element `index` on, one vector per column."""
    n = count.literal_value

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], ir.VectorType(f32, n * LANES))
        block = builder.load(first)
        block.align = 4
        return _pack(
            context, builder, [_shuffle(builder, block, block, list(range(k, n * LANES, n))) for k in range(n)]
        )

    return _group(n)(array, index, count), emit


@intrinsic
def store_columns(typing: Any, array: Any, index: Any, group: Any) -> Any:
    """The inverse of load_columns: writes a tuple of vectors as the columns of LANES consecutive rows."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        block = _interleaved(builder, cgutils.unpack_tuple(builder, args[2]))
        where = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], block.type)
        builder.store(block, where).align = 4
        return context.get_dummy_value()

    return types.none(array, index, group), emit


def _interleaved(builder: Any, vectors: list) -> Any:
    n = len(vectors)
    joined = vectors[0]
    for k, v in enumerate(vectors[1:], 1):  # concatenate; shuffle operands must be equally long, so pad the newcomer
        have = k * LANES
        padded = _shuffle(builder, v, v, [min(j, LANES - 1) for j in range(have)])
        joined = _shuffle(builder, joined, padded, [*range(have), *range(have, have + LANES)])
    return (
        _shuffle(builder, joined, joined, [k * LANES + row for row in range(LANES) for k in range(n)])
        if n > 1
        else joined
    )


def _transposed(builder: Any, vectors: list) -> list:
    """LANES vectors of LANES: rows for columns, by log2(LANES) rounds of interleaving."""
    half = LANES // 2
    low = [lane for k in range(half) for lane in (k, LANES + k)]
    high = [lane + half for lane in low]
    for _ in range(LANES.bit_length() - 1):
        pairs = list(zip(vectors[:half], vectors[half:], strict=True))
        vectors = [_shuffle(builder, a, b, lanes) for a, b in pairs for lanes in (low, high)]
    return vectors


@intrinsic
def store_rows(typing: Any, array: Any, index: Any, stride: Any, group: Any) -> Any:
    """array[index + lane * stride + k] = group[k][lane]; the columns are filled up to a multiple of LANES with
    zeros."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vectors = cgutils.unpack_tuple(builder, args[3])
        first = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], f32)
        step = context.cast(builder, args[2], sig.args[2], types.intp)
        for k in range(0, len(vectors), LANES):
            block = vectors[k : k + LANES]
            rows = _transposed(builder, block + [const_f(0.0)] * (LANES - len(block)))
            for lane, row in enumerate(rows):
                offset = builder.add(builder.mul(step, ir.Constant(step.type, lane)), ir.Constant(step.type, k))
                where = builder.bitcast(builder.gep(first, [offset]), vec_f.as_pointer())
                builder.store(row, where).align = 4
        return context.get_dummy_value()

    return types.none(array, index, stride, group), emit


# ---------------------------------------------------------------- sums over lanes


def _fold(builder: Any, a: Any, b: Any, width: int) -> Any:
    """Lanes in runs of `width`, one run per vector summed so far: halves each run by adding its halves, and joins a's
    runs with b's."""
    half = width // 2
    low = [r + j for r in range(0, LANES, width) for j in range(half)]
    high = [i + half for i in low]
    left = _shuffle(builder, a, b, low + [LANES + i for i in low])
    right = _shuffle(builder, a, b, high + [LANES + i for i in high])
    return builder.fadd(left, right, flags=ARITHMETIC)


def _lane_sums(builder: Any, vectors: list) -> Any:
    """One vector whose lane k is the sum over the lanes of vectors[k], for up to LANES of them. A balanced tree of
    fixed shape."""
    level, width = list(vectors), LANES
    while width > 1:
        if len(level) % 2:
            level.append(const_f(0.0))
        level = [_fold(builder, a, b, width) for a, b in zip(level[::2], level[1::2], strict=True)]
        width //= 2
    return level[0]


@intrinsic
def store_lane_sums(typing: Any, array: Any, index: Any, group: Any) -> Any:
    """array[index + k] = sum over the lanes of group[k]; whole vectors are written, the rest filled with zeros."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vectors = cgutils.unpack_tuple(builder, args[2])
        first = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], vec_f)
        for k in range(0, len(vectors), LANES):
            where = builder.gep(first, [ir.Constant(i32, k // LANES)])
            builder.store(_lane_sums(builder, vectors[k : k + LANES]), where).align = 4
        return context.get_dummy_value()

    return types.none(array, index, group), emit


@intrinsic
def add_lane_sums(typing: Any, array: Any, index: Any, group: Any, started: Any) -> Any:
    """store_lane_sums, but added to what is there if `started` is 1; if it is 0, what is there does not matter."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vectors = cgutils.unpack_tuple(builder, args[2])
        first = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], vec_f)
        flag = context.cast(builder, args[3], sig.args[3], types.int32)
        mask = broadcast(builder, builder.neg(flag), vec_i)  # a branch would be mispredicted every other time
        for k in range(0, len(vectors), LANES):
            where = builder.gep(first, [ir.Constant(i32, k // LANES)])
            old = builder.load(where)
            old.align = 4
            kept = builder.bitcast(builder.and_(builder.bitcast(old, vec_i), mask), vec_f)
            builder.store(builder.fadd(kept, _lane_sums(builder, vectors[k : k + LANES])), where).align = 4
        return context.get_dummy_value()

    return types.none(array, index, group, started), emit


@intrinsic
def lane_sum(typing: Any, x: Any) -> Any:
    """The sum over the lanes of one vector."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(
            _lane_sums(builder, [as_vec(context, builder, args[0], sig.args[0])]), ir.Constant(i32, 0)
        )

    return types.float32(x), emit
