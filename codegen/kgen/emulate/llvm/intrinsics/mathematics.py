"""Floating-point intrinsics: elementary functions, rounding, fma, extrema, classes, conversions.

The hardware's exp2, log2, rcp, rsq and sqrt are accurate to about one unit in the last place; the
emulator uses numpy's float32 functions. In float32, V_EXP_F32 flushes subnormal results and
V_LOG_F32 flushes subnormal inputs (LLVM "User Guide for AMDGPU Backend", llvm.amdgcn.exp2 and
llvm.amdgcn.log).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.floats import flush, fma, round_towards
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.numbers import floating, integer, lifted, narrow, signed, widen, wrap
from kgen.emulate.llvm.types import HALF, Array, Floating


def _round_half_away(a: Array) -> Array:
    whole = np.trunc(a)
    away = (np.abs(a - whole) >= 0.5).astype(a.dtype)
    return np.asarray(np.copysign(np.abs(whole) + away, a))


def _fraction(a: Array) -> Array:
    """V_FRACT: return a - floor(a), clamped below 1."""
    below_one = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    return np.asarray(np.minimum(a - np.floor(a), below_one))


def _hardware_exp2(a: Array) -> Array:
    result = np.exp2(a)
    return flush(result) if a.dtype == np.float32 else result


def _hardware_log2(a: Array) -> Array:
    return np.log2(flush(a) if a.dtype == np.float32 else a)


_FUNCTIONS: dict[str, Any] = {
    "llvm.fabs": np.abs,
    "llvm.sqrt": np.sqrt,
    "llvm.amdgcn.sqrt": np.sqrt,
    "llvm.exp": np.exp,
    "llvm.exp2": np.exp2,
    "llvm.exp10": lambda a: np.power(a.dtype.type(10), a),
    "llvm.amdgcn.exp2": _hardware_exp2,
    "llvm.log": np.log,
    "llvm.log2": np.log2,
    "llvm.log10": np.log10,
    "llvm.amdgcn.log": _hardware_log2,
    "llvm.sin": np.sin,
    "llvm.cos": np.cos,
    "llvm.tanh": np.tanh,
    "llvm.pow": np.power,
    "llvm.floor": np.floor,
    "llvm.ceil": np.ceil,
    "llvm.trunc": np.trunc,
    "llvm.rint": np.rint,
    "llvm.nearbyint": np.rint,
    "llvm.roundeven": np.rint,
    "llvm.round": _round_half_away,
    "llvm.copysign": np.copysign,
    "llvm.minnum": np.fmin,
    "llvm.maxnum": np.fmax,
    "llvm.canonicalize": lambda a: a,
    "llvm.amdgcn.tanh": np.tanh,
    "llvm.amdgcn.rcp": np.reciprocal,
    "llvm.amdgcn.rsq": lambda a: a.dtype.type(1) / np.sqrt(a),
    "llvm.amdgcn.fract": _fraction,
    "llvm.amdgcn.fmed3": lambda a, b, c: np.fmax(np.fmin(a, b), np.fmin(np.fmax(a, b), c)),
    "llvm.fma": fma,
    "llvm.fmuladd": fma,
    "llvm.amdgcn.fmad.ftz": fma,
}


def _function(name: str) -> Callable[[LlvmInstruction], Callable[..., Array]]:
    return lambda ins: lifted(_FUNCTIONS[name], floating(ins.type))


#: Extrema of IEEE 754-2019. With one NaN operand, the functions named "num" return the other
#: operand, the others return NaN.
_IEEE_EXTREMA: dict[str, Any] = {
    "minimum": np.minimum,
    "maximum": np.maximum,
    "minimumnum": np.fmin,
    "maximumnum": np.fmax,
}


def _ieee_extremum(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """Return the extremum, with -0 less than +0."""
    name = ins.callee.split(".")[1]
    greater, pick = name.startswith("maximum"), _IEEE_EXTREMA[name]

    def compute(a: Array, b: Array) -> Array:
        result = pick(a, b)
        # where both are zero: whether the first has the wanted sign
        first = np.signbit(a) != greater
        return np.where((a == 0) & (b == 0), np.where(first, a, b), result)

    return lifted(compute, floating(ins.type))


def _fma_half(ins: LlvmInstruction) -> Callable[..., Array]:
    """Return a * b + c for half and bfloat, rounded once from float64.

    The product is exact there.
    """
    type_ = floating(ins.type)
    if type_.name not in ("half", "bfloat"):
        return fma

    def compute(a: Array, b: Array, c: Array) -> Array:
        product = widen(a, type_).astype(np.float64) * widen(b, type_)
        return narrow(product + widen(c, type_), type_)

    return compute


def _scale(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """ldexp: return a * 2**n."""
    type_, exponent = floating(ins.type), integer(ins.operands[1].type)
    return lambda a, n: narrow(np.ldexp(widen(a, type_), signed(n, exponent)), type_)


def _split_exponent(ins: LlvmInstruction) -> Callable[[Array], tuple[Array, Array]]:
    """frexp: return the mantissa in [0.5, 1) and the exponent."""
    type_ = floating(ins.operands[0].type)

    def split(a: Array) -> tuple[Array, Array]:
        mantissa, exponent = np.frexp(widen(a, type_))
        return narrow(mantissa, type_), exponent.astype(np.int32).view(np.uint32)

    return split


_MANTISSA_BITS = {"half": 10, "bfloat": 7, "float": 23, "double": 52}


#: Indices into the result of `_kinds` for each bit of VFPCLASSPS' immediate (Intel SDM).
_X86_CLASSES = ((1,), (6,), (5,), (9,), (2,), (4, 7), (2, 3, 4), (0,))


def _kinds(a: Array, type_: Floating) -> tuple[Array, ...]:
    """Return ten masks, one per kind of number, in the order of llvm.is.fpclass' bits.

    The kinds range from signalling NaN to positive infinity.
    """
    bits = np.dtype(f"u{type_.size}")
    quiet_bit = bits.type(1 << (_MANTISSA_BITS[type_.name] - 1))
    value = widen(a, type_)
    negative, magnitude = np.signbit(value), np.abs(value)
    smallest = np.finfo(value.dtype).tiny if type_ != HALF else np.float32(2.0**-14)
    normal = (magnitude >= smallest) & np.isfinite(value)
    subnormal = (magnitude > 0) & (magnitude < smallest)
    quiet = (a.view(bits) & quiet_bit) != 0
    return (
        np.isnan(value) & ~quiet,
        np.isnan(value) & quiet,
        np.isinf(value) & negative,
        normal & negative,
        subnormal & negative,
        (value == 0) & negative,
        (value == 0) & ~negative,
        subnormal & ~negative,
        normal & ~negative,
        np.isinf(value) & ~negative,
    )


def _class(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """llvm.is.fpclass and V_CMP_CLASS: return whether a number is of one of the kinds in the bit
    mask."""
    type_ = floating(ins.operands[0].type)

    def classify(a: Array, mask: Array) -> Array:
        result = np.zeros(np.broadcast_shapes(a.shape, mask.shape), np.bool_)
        for bit, kind in enumerate(_kinds(a, type_)):
            result |= kind & ((mask >> mask.dtype.type(bit)) & mask.dtype.type(1)).astype(np.bool_)
        return result

    return classify


def _x86_class(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """VFPCLASSPS: as `_class`, with its own bits; bit 6 asks for finite negative numbers except
    zero."""
    type_, asked = floating(ins.operands[0].type), immediate(ins.operands[1])
    wanted = [kind for bit, kinds in enumerate(_X86_CLASSES) if asked >> bit & 1 for kind in kinds]

    def classify(a: Array, _: Array) -> Array:
        kinds, result = _kinds(a, type_), np.zeros(a.shape, np.bool_)
        for kind in wanted:
            result |= kinds[kind]
        return result

    return classify


def _saturating_to_integer(ins: LlvmInstruction) -> Callable[[Array], Array]:
    """llvm.fptoui.sat and llvm.fptosi.sat: clamp to the integer's range; NaN gives 0."""
    of, to = floating(ins.operands[0].type), integer(ins.type)
    is_signed = "fptosi" in ins.callee
    low = -(1 << (to.width - 1)) if is_signed else 0
    high = (1 << (to.width - (1 if is_signed else 0))) - 1

    def convert(a: Array) -> Array:
        value = np.trunc(widen(a, of).astype(np.float64))
        value = np.where(np.isnan(value), 0.0, value)
        inside = np.clip(value, float(low), float(np.nextafter(float(high) + 1.0, 0)))
        whole = inside.astype(np.int64 if is_signed else np.uint64)
        return wrap(np.where(value > high, whole.dtype.type(high), whole), to)

    return convert


def _to_nearest_integer(a: Array) -> Array:
    """VCVTPS2DQ (Intel SDM volume 2): the nearest s32, ties to even; -2**31 for all others."""
    nearest = np.rint(a.astype(np.float64))
    fits = (nearest >= -(2.0**31)) & (nearest < 2.0**31)
    return np.where(fits, nearest, -(2.0**31)).astype(np.int32).view(np.uint32)


def _pack_toward_zero(*values: Array) -> Array:
    """V_CVT_PKRTZ: convert two floats to two halves, rounded toward zero."""
    halves = [round_towards(value, np.float16, "rz") for value in values]
    return np.stack(np.broadcast_arrays(*halves), axis=-1)


PURE: dict[str, Build] = {
    **{name: _function(name) for name in _FUNCTIONS},
    "llvm.fma": _fma_half,
    "llvm.fmuladd": _fma_half,
    **dict.fromkeys((f"llvm.{name}" for name in _IEEE_EXTREMA), _ieee_extremum),
    "llvm.ldexp": _scale,
    "llvm.amdgcn.ldexp": _scale,
    "llvm.frexp": _split_exponent,
    "llvm.is.fpclass": _class,
    **dict.fromkeys((f"llvm.x86.avx512.fpclass.ps.{bits}" for bits in (128, 256, 512)), _x86_class),
    "llvm.amdgcn.class": _class,
    "llvm.fptoui.sat": _saturating_to_integer,
    "llvm.fptosi.sat": _saturating_to_integer,
    "llvm.x86.avx.cvt.ps2dq.256": fixed(_to_nearest_integer),
    "llvm.amdgcn.cvt.pkrtz": fixed(_pack_toward_zero),
}
