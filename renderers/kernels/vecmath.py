"""exp2, log2, square root, absolute value and rounding of VecF."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from .simd import LANES, VecF, const_f, const_i, fma, intrinsic, vec_f, vec_i


def _unary(name: str) -> Any:
    @intrinsic
    def function(typing: Any, x: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = ir.FunctionType(vec_f, [vec_f])
            callee = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f32")
            return builder.call(callee, args)

        return VecF(x), emit

    return function


vsqrt, vceil, vfloor, vabs = (_unary(name) for name in ("sqrt", "ceil", "floor", "fabs"))


@intrinsic
def exp2(typing: Any, x: Any) -> Any:
    """2^x for x in [-126, 126], relative error 2.3e-7; anything else gives a meaningless number, never a trap.

    x is split into the nearest integer n and f in [-1/2, 1/2]; 2^f by a minimax polynomial of degree 5, n added to the
    exponent.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        # Adding 1.5 * 2^23 rounds to an integer that stands in the low mantissa bits. No fast-math flags here: they
        # would undo it.
        shifted = builder.fadd(args[0], const_f(12582912.0))
        fraction = builder.fsub(args[0], builder.fsub(shifted, const_f(12582912.0)))
        value = const_f(0.0013276467798277736)
        for coefficient in (0.009675541892647743, 0.05550713464617729, 0.24022120237350464, 0.6931469440460205, 1.0):
            value = fma(builder, value, fraction, const_f(coefficient))
        exponent = builder.shl(builder.bitcast(shifted, vec_i), const_i(23))
        return builder.bitcast(builder.add(builder.bitcast(value, vec_i), exponent), vec_f)

    return VecF(x), emit


@intrinsic
def log2(typing: Any, x: Any) -> Any:
    """Base-2 logarithm of positive normal numbers, absolute error 1e-7 near 1: exponent + atanh series of the mantissa
    about 1."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], vec_i)
        exponent = builder.ashr(
            builder.sub(bits, const_i(0x3F3504F3)), const_i(23)
        )  # sqrt(1/2): mantissa in [0.707, 1.414)
        mantissa = builder.bitcast(builder.sub(bits, builder.shl(exponent, const_i(23))), vec_f)
        s = builder.fdiv(builder.fsub(mantissa, const_f(1.0)), builder.fadd(mantissa, const_f(1.0)))
        square = builder.fmul(s, s)
        series = const_f(2.8853900817779268 / 9)  # 2/ln 2 * (1 + s^2/3 + s^4/5 + ...)
        for odd in (7, 5, 3, 1):
            series = fma(builder, series, square, const_f(2.8853900817779268 / odd))
        return fma(builder, series, s, builder.sitofp(exponent, vec_f))

    return VecF(x), emit
