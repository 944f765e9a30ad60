"""Conversions between integers, floats, pointers and bit patterns (LangRef "Conversion
Operations")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.memory.codec import decode, encode
from kgen.emulate.llvm.memory.flat import APERTURES
from kgen.emulate.llvm.numbers import floating, integer, narrow, signed, widen, wrap
from kgen.emulate.llvm.types import FLAT, Array, Pointer

Convert = Callable[[Array], Array]


def _trunc(ins: LlvmInstruction) -> Convert:
    to = integer(ins.type)
    return lambda a: wrap(a, to)


def _zext(ins: LlvmInstruction) -> Convert:
    to = integer(ins.type)
    return lambda a: a.astype(to.dtype)


def _sext(ins: LlvmInstruction) -> Convert:
    of, to = integer(ins.operands[0].type), integer(ins.type)
    return lambda a: wrap(signed(a, of).astype(to.signed_dtype), to)


def _float_to_float(ins: LlvmInstruction) -> Convert:
    of, to = floating(ins.operands[0].type), floating(ins.type)
    return lambda a: narrow(widen(a, of), to)


def _float_to_integer(ins: LlvmInstruction) -> Convert:
    """Build fptoui or fptosi: round toward zero. LLVM's result is poison out of range."""
    of, to = floating(ins.operands[0].type), integer(ins.type)
    through = np.int64 if ins.opcode == "fptosi" or to.width < 64 else np.uint64
    return lambda a: wrap(widen(a, of).astype(through), to)


def _integer_to_float(ins: LlvmInstruction) -> Convert:
    of, to = integer(ins.operands[0].type), floating(ins.type)
    # Types that ``narrow`` rounds convert through float64, which holds all but wide integers
    # exactly.
    through = to.dtype if to.name in ("float", "double") else np.dtype(np.float64)
    if ins.opcode == "sitofp":
        return lambda a: narrow(signed(a, of).astype(through), to)
    return lambda a: narrow(a.astype(through), to)


def _bitcast(ins: LlvmInstruction) -> Convert:
    of, to = ins.operands[0].type, ins.type
    if of == to or isinstance(of.element, Pointer):
        return lambda a: a

    def cast(a: Array) -> Array:
        result: Array = decode(encode(a, of), to)
        return result

    return cast


def _pointer_to_integer(ins: LlvmInstruction) -> Convert:
    to = integer(ins.type)
    return lambda a: wrap(a, to)


def _cast_address_space(ins: LlvmInstruction) -> Convert:
    """Build addrspacecast: add or subtract the aperture of LDS or private memory, else do
    nothing."""
    of, to = ins.operands[0].type.element, ins.type.element
    assert isinstance(of, Pointer) and isinstance(to, Pointer)
    if of.space in APERTURES and to.space == FLAT:
        return lambda a: a + APERTURES[of.space]
    if of.space == FLAT and to.space in APERTURES:
        return lambda a: a - APERTURES[to.space]
    return lambda a: a


PURE: dict[str, Build] = {
    "trunc": _trunc,
    "zext": _zext,
    "sext": _sext,
    "fptrunc": _float_to_float,
    "fpext": _float_to_float,
    "fptoui": _float_to_integer,
    "fptosi": _float_to_integer,
    "uitofp": _integer_to_float,
    "sitofp": _integer_to_float,
    "bitcast": _bitcast,
    "ptrtoint": _pointer_to_integer,
    "ptrtoaddr": _pointer_to_integer,
    "inttoptr": fixed(lambda a: a.astype(np.int64)),
    "addrspacecast": _cast_address_space,
}
