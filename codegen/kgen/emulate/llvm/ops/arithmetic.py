"""Integer and floating-point arithmetic.

Source: LangRef "Binary Operations", "Bitwise Binary Operations", "Unary Operations".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.numbers import floating, integer, lifted, signed, wrap
from kgen.emulate.llvm.types import Array, LlvmInteger

Binary = Callable[[Array, Array], Array]

#: Operations whose result is the same for signed and unsigned operands, modulo 2**width.
_WRAPPING: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "shl": np.left_shift,
}
#: Unsigned operations whose result fits in the width if the operands do.
_CLOSED: dict[str, Any] = {
    "udiv": np.floor_divide,
    "urem": np.remainder,
    "lshr": np.right_shift,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
#: Operations on i1. A valid divisor is 1 and a valid shift amount is 0; both return the value.
_OF_BOOL: dict[str, Binary] = {
    "add": np.bitwise_xor,
    "sub": np.bitwise_xor,
    "mul": np.bitwise_and,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "udiv": lambda a, b: a & np.ones_like(b),
    "sdiv": lambda a, b: a & np.ones_like(b),
    "urem": lambda a, b: np.zeros_like(a & b),
    "srem": lambda a, b: np.zeros_like(a & b),
    "shl": lambda a, b: a & ~b,
    "lshr": lambda a, b: a & ~b,
    "ashr": lambda a, b: a | np.zeros_like(b),
}


def _signed_divide(a: Array, b: Array) -> Array:
    """Divide, truncating toward zero; numpy's ``//`` rounds down."""
    quotient: Array = (a - np.fmod(a, b)) // b
    return quotient


_SIGNED: dict[str, Any] = {"sdiv": _signed_divide, "srem": np.fmod, "ashr": np.right_shift}


def build_integer(opcode: str, type_: LlvmInteger) -> Binary:
    """Return the function of a binary integer opcode on values of ``type_``."""
    if type_.width == 1:
        return _OF_BOOL[opcode]
    if opcode in _CLOSED:
        closed: Binary = _CLOSED[opcode]
        return closed
    if opcode in _SIGNED:
        operation = _SIGNED[opcode]
        return lambda a, b: wrap(operation(signed(a, type_), signed(b, type_)), type_)
    wrapping: Binary = _WRAPPING[opcode]
    return wrapping if type_.fills_storage else lambda a, b: wrap(wrapping(a, b), type_)


def _integer(ins: LlvmInstruction) -> Binary:
    return build_integer(ins.opcode, integer(ins.type))


_FLOATING: dict[str, Any] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "frem": np.fmod,
}


def _floating(ins: LlvmInstruction) -> Callable[..., Array]:
    return lifted(_FLOATING[ins.opcode], floating(ins.type))


def negate(ins: LlvmInstruction) -> Callable[[Array], Array]:
    """Flip the sign bit, also of a NaN."""
    dtype = floating(ins.type).dtype
    bits = np.dtype(f"u{dtype.itemsize}")
    sign = bits.type(1 << (dtype.itemsize * 8 - 1))
    return lambda a: (a.view(bits) ^ sign).view(dtype)


PURE: dict[str, Build] = {
    **dict.fromkeys((*_WRAPPING, *_CLOSED, *_SIGNED), _integer),
    **dict.fromkeys(_FLOATING, _floating),
    "fneg": negate,
    "freeze": fixed(lambda a: a),
}
