"""Expressions that can be computed on stored elements directly, without a wider type."""

from __future__ import annotations

import struct

from kgen.ops.expand import expand
from kgen.ops.expression import TRUTH, Expression, steps
from kgen.ops.expression import Primitive as P
from kgen_runtime.dtypes import DType

#: Primitives without rounding: for arguments in a floating-point type the result is in this type.
EXACT = TRUTH | {P.INPUT, P.CONSTANT, P.NEG, P.ABS, P.MIN, P.MAX, P.FLOOR, P.ROUND, P.SELECT}

_FORMATS = {DType.F32: ("<f", "<I"), DType.F16: ("<e", "<H")}


def is_exact(expression: Expression, dtype: DType) -> bool:
    """Whether an expression in calls is exact when computed in the dtype of its inputs."""
    return all(
        step.primitive in EXACT
        and (step.primitive is not P.CONSTANT or bits_of(step.number, dtype) is not None)
        for step in steps(expand(expression))
    )


def bits_of(number: float, dtype: DType) -> int | None:
    """Return the bits of a number in f32, f16 or bf16; None if it would be rounded."""
    value, integer = _FORMATS.get(dtype, _FORMATS[DType.F32])
    try:
        stored = struct.pack(value, number)
    except OverflowError:
        return None
    if struct.unpack(value, stored)[0] != number and number == number:
        return None
    (bits,) = struct.unpack(integer, stored)
    assert isinstance(bits, int)
    if dtype is not DType.BF16:
        return bits
    # bf16 is the upper half of f32.
    return None if bits & 0xFFFF else bits >> 16


def sign_bit(dtype: DType) -> int:
    """Return the bits of -0."""
    return 1 << (8 * dtype.itemsize - 1)


def infinity_bits(dtype: DType) -> int:
    """Return the bits of infinity; those of NaNs, without the sign, are larger."""
    bits = bits_of(float("inf"), dtype)
    assert bits is not None
    return bits
