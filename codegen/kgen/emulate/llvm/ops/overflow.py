"""Overflow checks of ``nuw`` and ``nsw``: an overflow makes the result poison.

Source: LangRef "Binary Operations", "Poison Values".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.numbers import integer, signed
from kgen.emulate.llvm.types import Array, LlvmInteger

#: Function from both operands and the result to a mask of the results that overflow.
Overflows = Callable[[Array, Array, Array], Array]
#: Factors below 2**31 have a product that overflows no 64-bit type.
_SMALL = 31


def overflow_of(ins: LlvmInstruction) -> Overflows | None:
    """Return the overflow check of an instruction; None without ``nuw`` and ``nsw``, and for i1."""
    tables = {"nuw": _UNSIGNED, "nsw": _SIGNED}
    builders = [table[ins.opcode] for flag, table in tables.items() if flag in ins.flags]
    if not builders or integer(ins.type).width == 1:
        return None
    first, *others = (build(integer(ins.type)) for build in builders)
    if not others:
        return first
    (second,) = others
    return lambda a, b, result: first(a, b, result) | second(a, b, result)


def _sign(type_: LlvmInteger) -> Any:
    """Return the sign bit in the storage type."""
    return type_.dtype.type(1 << (type_.width - 1))


def _unsigned_product(type_: LlvmInteger) -> Overflows:
    if type_.width <= _SMALL + 1:
        most = np.uint64((1 << type_.width) - 1)
        return lambda a, b, _: a.astype(np.uint64) * b.astype(np.uint64) > most

    def product(a: Array, b: Array, result: Array) -> Array:
        if not np.count_nonzero((a | b) >> np.uint64(_SMALL)):
            return np.zeros((1, 1), np.bool_)
        found: Array = (a != 0) & (result // np.maximum(a, 1) != b)
        return found

    return product


def _signed_sum(type_: LlvmInteger) -> Overflows:
    sign = _sign(type_)
    return lambda a, b, result: (a ^ result) & (b ^ result) & sign != 0


def _signed_difference(type_: LlvmInteger) -> Overflows:
    sign = _sign(type_)
    return lambda a, b, result: (a ^ b) & (a ^ result) & sign != 0


def _signed_product(type_: LlvmInteger) -> Overflows:
    if type_.width <= _SMALL + 1:

        def product(a: Array, b: Array, result: Array) -> Array:
            exact = signed(a, type_).astype(np.int64) * signed(b, type_).astype(np.int64)
            found: Array = exact != signed(result, type_)
            return found

        return product

    def wide_product(a: Array, b: Array, result: Array) -> Array:
        if not np.count_nonzero((a | b) >> np.uint64(_SMALL)):
            return np.zeros((1, 1), np.bool_)
        x, y, xy = (signed(value, type_) for value in (a, b, result))
        smallest = np.int64(-1 << (type_.width - 1))
        divisor = np.where((x == 0) | (x == -1), 1, x)
        quotient_differs = (x != 0) & (x != -1) & (xy // divisor != y)
        found: Array = quotient_differs | ((x == -1) & (y == smallest))
        return found

    return wide_product


def _signed_shift(type_: LlvmInteger) -> Overflows:
    return lambda a, b, result: (
        signed(result, type_) >> b.astype(type_.signed_dtype) != signed(a, type_)
    )


_UNSIGNED: dict[str, Callable[[LlvmInteger], Overflows]] = {
    "add": lambda type_: lambda a, b, result: result < a,
    "sub": lambda type_: lambda a, b, result: a < b,
    "mul": _unsigned_product,
    "shl": lambda type_: lambda a, b, result: result >> b != a,
}
CHECKED = frozenset(_UNSIGNED)
_SIGNED: dict[str, Callable[[LlvmInteger], Overflows]] = {
    "add": _signed_sum,
    "sub": _signed_difference,
    "mul": _signed_product,
    "shl": _signed_shift,
}
