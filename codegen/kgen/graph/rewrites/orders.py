"""Permutations go behind formulas: what is computed of tensors that are all permuted alike is
computed in the order in which they lie, and is then permuted.

So the order that a convolution writes, channels innermost, stays through the activations, sums,
poolings and scales behind it until the next convolution takes it, whose own permutation undoes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kgen.graph.reading.model import Shape
from kgen.ops.expression import Expression, Primitive, constant, steps, variable, with_arguments
from kgen_runtime.values import frozen

#: Views whose first number is an axis, of tensors that have as many axes as the result.
ALONG = ("concat", "pad", "slice")


#: Between the model's name of a value and the order in which it is another's.
IN_ORDER = "~"


#: The end of the name of a value's numbers of u8 less 128, as s8.
SIGNED = ":s8"


def in_order(name: str, order: Sequence[int]) -> str:
    """Name of a model's value with its axes in this order."""
    return f"{name}{IN_ORDER}{','.join(map(str, order))}"


def order_in(name: str) -> tuple[str, tuple[int, ...]]:
    """The model's name in such a name, and the order; () if there is none."""
    plain, mark, numbers = name.rpartition(IN_ORDER)
    axes = numbers.split(",")
    if not mark or not all(axis.isdecimal() for axis in axes):
        return name, ()
    return plain, tuple(map(int, axes))


@frozen
class PermutedOperand:
    """Operand of a formula: its shape, and the `order` that it is permuted in, if any."""

    shape: Shape
    order: tuple[int, ...] = ()


def common_order(
    expression: Expression, shape: Sequence[int], operands: Mapping[str, PermutedOperand]
) -> tuple[int, ...]:
    """The order that all operands of a formula's rank are in, but those that broadcast; () if
    there is none, or the formula has views that depend on it."""
    orders = {o.order for o in operands.values() if o.order}
    order = next(iter(orders), ())
    if len(orders) != 1 or len(order) != len(shape) or order == tuple(range(len(order))):
        return ()
    permuted = [o for o in operands.values() if o.order]
    largest = max(math.prod(o.shape) for o in permuted)
    for operand in operands.values():
        # Of one axis that is longer than 1 the order does not matter.
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
    """The formula of tensors before their permutation, by other names."""
    done: dict[Expression, Expression] = {}
    for step in steps(expression):
        arguments = tuple(done[a] for a in step.arguments)
        if step.primitive is Primitive.INPUT:
            done[step] = variable(names[step.name])
            continue
        if step.primitive is Primitive.VIEW:
            at = next(i for i, a in enumerate(arguments) if a.primitive is Primitive.CONSTANT)
            axis = constant(order[int(arguments[at].number)])
            arguments = (*arguments[:at], axis, *arguments[at + 1 :])
        done[step] = step if arguments == step.arguments else with_arguments(step, arguments)
    return done[expression]


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order that undoes one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def squeezed(old: Shape, order: Sequence[int], new: Shape) -> tuple[Shape, tuple[int, ...]]:
    """Operand of a permutation to a shape with other axes of one element: its shape with those
    axes in front, and the order."""
    long = [axis for axis, n in enumerate(new) if n > 1]
    places = [order[axis] for axis, n in enumerate(old) if n > 1]
    ones = [axis for axis, n in enumerate(new) if n == 1]
    inner = [*ones, *(axis for _, axis in sorted(zip(places, long, strict=True)))]
    return tuple(new[axis] for axis in inner), inverse(inner)
