"""Vectors in Numba: extension types lowered to LLVM `<LANES x float>`, which LLVM turns into AVX-512, AVX2, SSE or
NEON code.

Numba's loop vectoriser gives up on loops with masks, early exits or exp2; with these types the kernel says itself what
runs side by side.

    VecF, VecI, VecM   LANES float32 / int32 / booleans; operators + - * / < <= > >= & | work between them (and
    scalars, for VecF)
    arrays             plain contiguous NumPy arrays, addressed by flat element index without bounds check or
                       wrap-around
    groups             Python tuples of VecF, one per channel or column: see groups.py

This file holds types, arithmetic, loads and stores; vecmath.py exp2, log2 and rounding; groups.py transposes and sums
over lanes.
"""

from __future__ import annotations

import operator
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import config, extending, types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, signature
from numba.core.typing.templates import infer_global as _infer_global
from numba.extending import models, register_model

infer_global: Any = _infer_global  # without annotations of its own, checkers take its result for None

intrinsic = cast(Any, extending.intrinsic)  # kernels call what it returns without the typing context


def _host_lanes() -> int:
    """16 where the host has 512-bit vectors and 32 registers of them, else 8 (AVX2: one register; SSE and NEON:
    two)."""
    named = getattr(config, "CPU_FEATURES", None) or ""
    if getattr(config, "CPU_NAME", None) and not named:
        return 8
    wide = "+avx512f" in named.split(",") if named else llvm.get_host_cpu_features().get("avx512f", False)
    return 16 if wide else 8


LANES: int = _host_lanes()
ARITHMETIC = ("contract", "nsz", "nnan", "ninf")  # of VecF + - *; comparisons and divisions keep IEEE rules


class _VecType(types.Type):
    def __init__(self, name: str) -> None:
        super().__init__(name=f"{name}x{LANES}")


VecF, VecI, VecM = _VecType("VecF"), _VecType("VecI"), _VecType("VecM")

f32, i32, i64, bit = ir.FloatType(), ir.IntType(32), ir.IntType(64), ir.IntType(1)
vec_f, vec_i, vec_m = ir.VectorType(f32, LANES), ir.VectorType(i32, LANES), ir.VectorType(bit, LANES)
_LOWERED = {VecF: vec_f, VecI: vec_i, VecM: vec_m}


class _VecModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: types.Type) -> None:
        super().__init__(manager, fe_type, _LOWERED[fe_type])


register_model(_VecType)(_VecModel)

_SCALARS = (types.float32, types.float64, types.int64)


# ---------------------------------------------------------------- helpers that emit LLVM


def const_f(value: float) -> ir.Constant:
    """The same float in every lane."""
    return ir.Constant(vec_f, [float(np.float32(value))] * LANES)


def const_i(value: int) -> ir.Constant:
    """The same int in every lane."""
    return ir.Constant(vec_i, [value] * LANES)


def broadcast(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    """A scalar in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(i32, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(i32, LANES), [0] * LANES))


def as_vec(context: Any, builder: Any, value: Any, kind: types.Type) -> Any:
    """A VecF as it is, a scalar broadcast."""
    if kind == VecF:
        return value
    return broadcast(builder, context.cast(builder, value, kind, types.float32), vec_f)


def fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, fused where the machine can."""
    kind = ir.FunctionType(vec_f, [vec_f] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32"), [a, b, c])


def pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, index_type: Any, target: Any) -> Any:
    """Address of a flat element, as a pointer to `target`."""
    view = context.make_array(array_type)(context, builder, array)
    at = context.cast(builder, index, index_type, types.intp)
    return builder.bitcast(builder.gep(view.data, [at]), target.as_pointer())


# ---------------------------------------------------------------- operators


def _arithmetic(op: Any, method: str, flags: tuple[str, ...]) -> None:
    known = [signature(VecF, VecF, VecF)]
    known += [signature(VecF, VecF, s) for s in _SCALARS] + [signature(VecF, s, VecF) for s in _SCALARS]

    @infer_global(op)
    class _Template(ConcreteTemplate):
        cases = known

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (as_vec(context, builder, v, t) for v, t in zip(args, sig.args, strict=True))
        return getattr(builder, method)(a, b, flags=flags)

    for case in known:
        lower_builtin(op, *case.args)(lower)


_arithmetic(operator.add, "fadd", ARITHMETIC)
_arithmetic(operator.sub, "fsub", ARITHMETIC)
_arithmetic(operator.mul, "fmul", ARITHMETIC)
_arithmetic(operator.truediv, "fdiv", ())


@infer_global(operator.neg)
class _Negation(ConcreteTemplate):
    cases = [signature(VecF, VecF)]  # noqa: RUF012


@lower_builtin(operator.neg, VecF)
def _negate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0])


def _comparison(op: Any, symbol: str) -> None:
    known = [signature(VecM, VecF, VecF), signature(VecM, VecI, VecI)] + [signature(VecM, VecF, s) for s in _SCALARS]

    @infer_global(op)
    class _Template(ConcreteTemplate):
        cases = known

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if sig.args[0] == VecI:
            return builder.icmp_signed(symbol, *args)
        a, b = (as_vec(context, builder, v, t) for v, t in zip(args, sig.args, strict=True))
        return builder.fcmp_ordered(symbol, a, b)

    for case in known:
        lower_builtin(op, *case.args)(lower)


for _op, _symbol in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">=")):
    _comparison(_op, _symbol)


def _logic(op: Any, method: str) -> None:
    @infer_global(op)
    class _Template(ConcreteTemplate):
        cases = [signature(VecM, VecM, VecM)]  # noqa: RUF012

    @lower_builtin(op, VecM, VecM)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, method)(*args)


_logic(operator.and_, "and_")
_logic(operator.or_, "or_")


# ---------------------------------------------------------------- making, choosing


@intrinsic
def vec(typing: Any, x: Any) -> Any:
    """A scalar in every lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return as_vec(context, builder, args[0], sig.args[0])

    return VecF(x), emit


@intrinsic
def veci(typing: Any, x: Any) -> Any:
    """An integer in every lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return broadcast(builder, context.cast(builder, args[0], sig.args[0], types.int32), vec_i)

    return VecI(x), emit


@intrinsic
def muladd(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return fma(builder, *(as_vec(context, builder, v, t) for v, t in zip(args, sig.args, strict=True)))

    return VecF(a, b, c), emit


@intrinsic
def select(typing: Any, mask: Any, yes: Any, no: Any) -> Any:
    """Lane by lane: yes where mask, else no (VecF with scalars allowed, or both VecI)."""
    kind = VecI if yes == VecI else VecF

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if kind == VecI:
            return builder.select(*args)
        a, b = (as_vec(context, builder, v, t) for v, t in zip(args[1:], sig.args[1:], strict=True))
        return builder.select(args[0], a, b)

    return kind(mask, yes, no), emit


def _extreme(symbol: str) -> Any:
    @intrinsic
    def pick(typing: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            x, y = (as_vec(context, builder, v, t) for v, t in zip(args, sig.args, strict=True))
            return builder.select(builder.fcmp_ordered(symbol, x, y), x, y)

        return VecF(a, b), emit

    return pick


minimum = _extreme("<")  # of (a, NaN) and (NaN, b): the second argument, like SSE's minps
maximum = _extreme(">")


@intrinsic
def any_of(typing: Any, mask: Any) -> Any:
    """True if any lane is."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = f"llvm.vector.reduce.or.v{LANES}i1"
        return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(bit, [vec_m]), name), args)

    return types.boolean(mask), emit


# ---------------------------------------------------------------- memory


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """LANES consecutive elements; uint8 arrays are converted to float."""
    kind = VecI if array.dtype == types.int32 else VecF
    memory = ir.VectorType(ir.IntType(8), LANES) if array.dtype == types.uint8 else _LOWERED[kind]

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], memory)
        value = builder.load(at)
        value.align = 1 if array.dtype == types.uint8 else 4
        return builder.uitofp(value, vec_f) if array.dtype == types.uint8 else value

    return kind(array, index), emit


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """LANES consecutive elements."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], _LOWERED[sig.args[2]])
        builder.store(args[2], at).align = 4
        return context.get_dummy_value()

    return types.none(array, index, value), emit


@intrinsic
def at(typing: Any, array: Any, index: Any) -> Any:
    """One element."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        view = context.make_array(sig.args[0])(context, builder, args[0])
        return builder.load(builder.gep(view.data, [context.cast(builder, args[1], sig.args[1], types.intp)]))

    return array.dtype(array, index), emit


@intrinsic
def put(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write one element."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        view = context.make_array(sig.args[0])(context, builder, args[0])
        where = builder.gep(view.data, [context.cast(builder, args[1], sig.args[1], types.intp)])
        builder.store(context.cast(builder, args[2], sig.args[2], sig.args[0].dtype), where)
        return context.get_dummy_value()

    return types.none(array, index, value), emit


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of an element that is needed soon."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        where = builder.bitcast(pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1], f32), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(hint, [where] + [ir.Constant(i32, k) for k in (0, 3, 1)])
        return context.get_dummy_value()

    return types.none(array, index), emit


@intrinsic
def claim(typing: Any, counter: Any) -> Any:
    """Take the next block number off a shared int64 counter (atomic)."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        view = context.make_array(sig.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", view.data, ir.Constant(i64, 1), "monotonic")

    return types.int64(counter), emit


@intrinsic
def lowest_bit(typing: Any, x: Any) -> Any:
    """Index of the lowest set bit of a uint64 that is not zero."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(i64, [i64, bit]), "llvm.cttz.i64")
        return builder.call(count, [args[0], ir.Constant(bit, 1)])

    return types.int64(types.uint64), emit
