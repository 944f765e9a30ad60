"""icmp, fcmp and select (LangRef "Other Operations")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.exec.machine import merge
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.numbers import floating, signed, widen
from kgen.emulate.llvm.types import Array, LlvmInteger

_RELATIONS: dict[str, Any] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _icmp(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    predicate = ins.predicate
    relation: Callable[[Array, Array], Array] = _RELATIONS[predicate[-2:]]
    element = ins.operands[0].type.element
    if predicate[0] == "s" and isinstance(element, LlvmInteger):
        return lambda a, b: relation(signed(a, element), signed(b, element))
    # addresses are never negative, so a signed comparison of pointers equals an unsigned one
    return relation


def _fcmp(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """Build fcmp: with a NaN operand, the predicates ``o..`` are false and ``u..`` are true."""
    predicate = ins.predicate
    type_ = floating(ins.operands[0].type)

    def compare(a: Array, b: Array) -> Array:
        a, b = widen(a, type_), widen(b, type_)
        if predicate in ("true", "false"):
            return np.full(np.broadcast_shapes(a.shape, b.shape), predicate == "true")
        unordered = np.isnan(a) | np.isnan(b)
        if predicate == "uno":
            return unordered
        if predicate == "ord":
            return ~unordered
        holds: Array = _RELATIONS[predicate[1:]](a, b)
        return holds | unordered if predicate[0] == "u" else holds & ~unordered

    return compare


PURE: dict[str, Build] = {"icmp": _icmp, "fcmp": _fcmp, "select": fixed(merge)}
