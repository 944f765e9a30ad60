"""Values of constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kgen.emulate.llvm.frontend.module import Constant, LlvmInstruction
from kgen.emulate.llvm.ops import PURE
from kgen.emulate.llvm.types import Aggregate, Array, Floating, LlvmInteger, LlvmType, value_shape


def constant_value(constant: Constant, symbols: Mapping[str, int]) -> Any:
    """Return the value of a constant, uniform over workgroups and lanes; ``symbols`` are
    addresses."""
    type_, kind, value = constant.type, constant.kind, constant.value
    if kind == "zero":
        return _zero(type_)
    if kind == "list":
        assert isinstance(value, tuple)
        elements = [constant_value(element, symbols) for element in value]
        return tuple(elements) if isinstance(type_, Aggregate) else np.stack(elements, axis=-1)
    if kind == "bytes":
        assert isinstance(value, bytes)
        return tuple(np.full((1, 1), byte, np.uint8) for byte in value)
    if kind == "global":
        assert isinstance(value, str)
        if value not in symbols:
            raise TypeError(f"the address of @{value}")
        return np.full((1, 1), symbols[value], np.int64)
    if kind == "expression":
        assert isinstance(value, LlvmInstruction)
        return _evaluate(value, symbols)
    assert isinstance(value, int)
    if isinstance(type_, Floating):
        bits = np.full((1, 1), value, f"u{type_.size}")
        return bits.view(type_.dtype)
    modulus = 1 << type_.width if isinstance(type_, LlvmInteger) else 1 << 64
    return np.full((1, 1), value % modulus, type_.dtype)


def _zero(type_: LlvmType) -> Any:
    if isinstance(type_, Aggregate):
        return tuple(_zero(type_.field(i)) for i in range(type_.count))
    zero: Array = np.zeros((1, 1, *value_shape(type_)), type_.dtype)
    return zero


def _evaluate(expression: LlvmInstruction, symbols: Mapping[str, int]) -> Any:
    operands = []
    for operand in expression.operands:
        assert isinstance(operand, Constant)
        operands.append(constant_value(operand, symbols))
    return PURE[expression.opcode](expression)(*operands)
