"""Quantised u8 numbers, stored as s8 after subtracting 128, and dequantisation formulas."""

from __future__ import annotations

import numpy as np

from kgen.graph.ir import Builder, FormulaNode, GraphValue, ViewNode
from kgen.ops.expression import Expression, Primitive, call, constant, inputs, variable
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Offset between a u8 number and its s8 form.
OFFSET = 128


def signed(b: Builder, x: GraphValue) -> GraphValue:
    """Return u8 numbers less 128 as s8; other types unchanged."""
    if x.dtype is not DType.U8:
        return x
    array, at = b.array(x), x.operation
    if array is not None:
        return b.made("signed", (array.astype(np.int16) - OFFSET).astype(np.int8), DType.S8)
    if isinstance(at, ViewNode):
        of = signed(b, b.values[at.of])
        return b.add(ViewNode(of=of.id, step=at.step), x.shape, DType.S8)
    if isinstance(at, FormulaNode):
        of = b.values[at.operands[0]]
        if of.dtype is DType.S8 and at.expression == b.call("add", of, float(OFFSET)):
            return of
    return b.formula(b.call("sub", x, float(OFFSET)), x.shape, DType.S8)


def unsigned(b: Builder, x: GraphValue) -> GraphValue:
    """Return s8 numbers plus 128 as u8, the inverse of :func:`signed`."""
    return b.formula(b.call("add", x, float(OFFSET)), x.shape, DType.U8)


@frozen
class Dequantization:
    """Formula (numbers - zero) * scale.

    `numbers` are s8 or s32. `zero` and `scale` are numbers, or values that broadcast to `numbers`.
    """

    numbers: str
    zero: Expression
    scale: Expression

    @property
    def expression(self) -> Expression:
        return dequantized(variable(self.numbers), self.zero, self.scale)

    @staticmethod
    def of(expression: Expression) -> Dequantization | None:
        """Return the parts of a dequantisation; None for any other expression."""
        scale, zero = constant(1.0), constant(0.0)
        if expression.name == "mul":
            expression, scale = expression.arguments
        if expression.name == "sub":
            expression, zero = expression.arguments
        if expression.name != "cast":
            return None
        (expression,) = expression.arguments
        known = (Primitive.INPUT, Primitive.CONSTANT)
        if expression.primitive is not Primitive.INPUT or any(
            term.primitive not in known for term in (zero, scale)
        ):
            return None
        return Dequantization(numbers=expression.name, zero=zero, scale=scale)


def dequantized(numbers: Expression, zero: Expression, scale: Expression) -> Expression:
    """Return (numbers - zero) * scale, without a zero point of 0 and a scale of 1."""
    found = call("cast", (numbers,))
    if zero != constant(0.0):
        found = call("sub", (found, zero))
    return found if scale == constant(1.0) else call("mul", (found, scale))


def is_saturated(expression: Expression) -> bool:
    """Whether a formula rounds and saturates to s8 itself, so that storing changes no number."""
    if expression.name != "min" or expression.arguments[1] != constant(127.0):
        return False
    least = expression.arguments[0]
    if least.name != "max" or least.arguments[1] != constant(-128.0):
        return False
    whole = least.arguments[0]
    if whole.name == "add" and whole.arguments[1].primitive is Primitive.CONSTANT:
        whole = whole.arguments[0] if whole.arguments[1].number.is_integer() else whole
    return whole.name == "round"


def numbers_of(b: Builder, x: GraphValue) -> tuple[GraphValue, Dequantization] | None:
    """Return the s8 numbers of a dequantised value, and its dequantisation.

    Returns None for any other value, and unless scale and zero point are single numbers.
    """
    at = x.operation
    if isinstance(at, ViewNode):
        found = numbers_of(b, b.values[at.of])
        if found is None:
            return None
        made = ViewNode(of=found[0].id, step=at.step)
        return b.add(made, x.shape, DType.S8), found[1]
    parts = Dequantization.of(at.expression) if isinstance(at, FormulaNode) else None
    if parts is None or inputs(parts.zero) or inputs(parts.scale):
        return None
    numbers = b.values[parts.numbers]
    return (numbers, parts) if numbers.dtype is DType.S8 and numbers.shape == x.shape else None


def is_dequantized(b: Builder, x: GraphValue) -> bool:
    """Whether a value is a dequantised s8 value, or a view of one."""
    at = x.operation
    if isinstance(at, ViewNode):
        return is_dequantized(b, b.values[at.of])
    parts = Dequantization.of(at.expression) if isinstance(at, FormulaNode) else None
    return parts is not None and b.values[parts.numbers].dtype is DType.S8
