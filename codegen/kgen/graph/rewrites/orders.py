"""Graph rewrite: move Transpose below formulas whose operands are all permuted alike.

The formula runs in the memory order of its operands, and its result is permuted instead. The
channels-last layout of a convolution's output thus stays through activations, additions, poolings
and scales until the next convolution, whose own permutation cancels it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kgen.graph.reading.model import Shape
from kgen.ops.expression import (
    Expression,
    Primitive,
    constant,
    rebuilt,
    steps,
    variable,
    with_arguments,
)
from kgen_runtime.values import frozen

#: Views whose first number is an axis, and whose operands have the rank of the result.
ALONG = ("concat", "pad", "slice")


#: Separator between a value's name in the model and the axis order of a permuted value.
IN_ORDER = "~"


#: Suffix of the name of a u8 value that is stored as s8 after subtracting 128.
SIGNED = ":s8"


def in_order(name: str, order: Sequence[int]) -> str:
    """Return the name of a model's value with its axes in this order."""
    return f"{name}{IN_ORDER}{','.join(map(str, order))}"


def order_in(name: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the axis order that :func:`in_order` joined; () without an order."""
    plain, mark, numbers = name.rpartition(IN_ORDER)
    axes = numbers.split(",")
    if not mark or not all(axis.isdecimal() for axis in axes):
        return name, ()
    return plain, tuple(map(int, axes))


@frozen
class PermutedOperand:
    """Shape of a formula's operand, and the permutation `order` that computes it, if any."""

    shape: Shape
    order: tuple[int, ...] = ()


def common_order(
    expression: Expression, shape: Sequence[int], operands: Mapping[str, PermutedOperand]
) -> tuple[int, ...]:
    """Return the permutation that all operands of a formula share.

    Smaller operands and vectors, which broadcast, may be in any order. Returns () without a common
    order, and for a formula whose views do not allow another order.
    """
    orders = {o.order for o in operands.values() if o.order}
    order = next(iter(orders), ())
    if len(orders) != 1 or len(order) != len(shape) or order == tuple(range(len(order))):
        return ()
    permuted = [o for o in operands.values() if o.order]
    largest = max(math.prod(o.shape) for o in permuted)
    for operand in operands.values():
        # The order does not matter with only one axis longer than 1.
        is_vector = sum(n > 1 for n in operand.shape) <= 1
        if not operand.order and not is_vector and math.prod(operand.shape) >= largest:
            return ()
    for step in steps(expression):
        if step.primitive is not Primitive.VIEW:
            continue
        full = {name for name, o in operands.items() if len(o.shape) == len(order)}
        tensors = [a for a in step.arguments if a.primitive is Primitive.INPUT]
        if step.name not in ALONG or any(t.name not in full for t in tensors):
            return ()
    return order


def reordered(expression: Expression, order: Sequence[int], names: Mapping[str, str]) -> Expression:
    """Return the formula on operands before their permutation, with new names and axes."""

    def change(step: Expression) -> Expression:
        if step.primitive is Primitive.INPUT:
            return variable(names[step.name])
        if step.primitive is not Primitive.VIEW:
            return step
        of = step.arguments
        at = next(i for i, a in enumerate(of) if a.primitive is Primitive.CONSTANT)
        axis = constant(order[int(of[at].number)])
        return with_arguments(step, (*of[:at], axis, *of[at + 1 :]))

    return rebuilt(expression, change)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes a permutation."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def squeezed(old: Shape, order: Sequence[int], new: Shape) -> tuple[Shape, tuple[int, ...]]:
    """Return a shape and a permutation of it that reshape a permuted tensor to the shape `new`.

    `old` and `new` differ in axes of size 1 only.
    """
    long = [axis for axis, n in enumerate(new) if n > 1]
    places = [order[axis] for axis, n in enumerate(old) if n > 1]
    ones = [axis for axis, n in enumerate(new) if n == 1]
    inner = [*ones, *(axis for _, axis in sorted(zip(places, long, strict=True)))]
    return tuple(new[axis] for axis in inner), inverse(inner)
