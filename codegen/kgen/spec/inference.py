"""Shape inference for expressions with views."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from kgen.errors import Unfit
from kgen.ops.expression import Expression, Primitive, shown, unknown
from kgen.ops.views import INDEXED
from kgen.spec.shapes import Shape, broadcast, by_x


class Shapes:
    """Shape of every node of an expression, from the shapes of its inputs."""

    def __init__(
        self, inputs: Mapping[str, Shape], coordinates: Iterable[str] = frozenset()
    ) -> None:
        self.inputs = {**inputs, **dict.fromkeys(coordinates, ())}
        self.known: dict[Expression, Shape] = {}

    def __getitem__(self, node: Expression) -> Shape:
        """Return a node's shape. Raises SpecError for views and shapes that do not fit."""
        for step in unknown([node], self.known):
            self.known[step] = self._shape(step)
        return self.known[node]

    def _shape(self, node: Expression) -> Shape:
        if node.primitive is Primitive.INPUT:
            return self.inputs[node.name]
        if node.primitive is Primitive.CONSTANT:
            return ()
        if node.primitive is not Primitive.VIEW:
            return self.broadcast(node.arguments)
        tensors, numbers = parts(node)
        shapes = [self[tensor] for tensor in tensors]
        match node.name:
            case "permute" | "transpose":
                return tuple(shapes[0][axis] for axis in self.order(node))
            case "slice":
                axis = self.axis(node, shapes[0], numbers[0])
                _, count, _ = self.span(node)
                if not count:
                    size = shapes[0][axis]
                    refuse(
                        node,
                        f"selects none of the {size} elements along axis {axis}; give a start "
                        "and a stop with elements between them",
                    )
                return (*shapes[0][:axis], count, *shapes[0][axis + 1 :])
            case "pad":
                axis = self.axis(node, shapes[0], numbers[0])
                if min(numbers[1:3]) < 0:
                    refuse(node, "pads by less than 0; remove elements with slice")
                size = shapes[0][axis] + int(numbers[1]) + int(numbers[2])
                return (*shapes[0][:axis], size, *shapes[0][axis + 1 :])
            case "concat":
                return self._concatenated(node, shapes, numbers[0])
            case "gather":
                axis = self.axis(node, shapes[0], numbers[0])
                return (*shapes[0][:axis], *shapes[1], *shapes[0][axis + 1 :])
            case "scatter":
                self.rows(node)
                return shapes[0]
        return self._expanded(node, shapes[0], numbers)

    def broadcast(self, arguments: Sequence[Expression]) -> Shape:
        """Return the shape that several nodes broadcast to."""
        return broadcast((argument.name, argument, self[argument]) for argument in arguments)

    def rows(self, node: Expression) -> Shape:
        """Return the shape of the rows that a scatter writes."""
        (table, index, rows), numbers = parts(node)
        shape = self[table]
        axis = self.axis(node, shape, numbers[0])
        found = (*shape[:axis], *self[index], *shape[axis + 1 :])
        behind = found[len(found) - len(self[rows]) :]
        if len(self[rows]) > len(found) or any(
            n not in (1, m) for n, m in zip(self[rows], behind, strict=True)
        ):
            refuse(node, f"writes rows of shape {by_x(self[rows])}; give rows of {by_x(found)}")
        return found

    def _concatenated(self, node: Expression, shapes: list[Shape], number: float) -> Shape:
        first = shapes[0]
        axis = self.axis(node, first, number)
        for shape in shapes[1:]:
            if len(shape) != len(first) or any(
                n != m for i, (n, m) in enumerate(zip(shape, first, strict=True)) if i != axis
            ):
                refuse(
                    node,
                    f"joins shapes {by_x(first)} and {by_x(shape)}; they may differ along axis "
                    f"{axis} only",
                )
        return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])

    def _expanded(self, node: Expression, shape: Shape, numbers: Sequence[float]) -> Shape:
        sizes = tuple(map(int, numbers))
        behind = sizes[len(sizes) - len(shape) :]
        fits = len(sizes) >= len(shape) and all(
            n in (1, m) for n, m in zip(shape, behind, strict=True)
        )
        if not fits or min(sizes) < 1:
            refuse(
                node, f"cannot make {by_x(sizes)} of shape {by_x(shape)}; only sizes of 1 can grow"
            )
        return sizes

    def axis(self, node: Expression, shape: Shape, number: float) -> int:
        """Return an axis as a number from 0; negative numbers count from the end."""
        if not -len(shape) <= number < len(shape):
            refuse(
                node,
                f"has axis {number:g} for shape {by_x(shape)}; give "
                f"{-len(shape)} to {len(shape) - 1}",
            )
        return int(number) % len(shape)

    def order(self, node: Expression) -> tuple[int, ...]:
        """Return the axis of the tensor for each axis of a permuted result."""
        (tensor,), numbers = parts(node)
        shape = self[tensor]
        if node.name == "transpose":
            if len(shape) < 2:
                refuse(node, f"swaps the last two axes, but shape {by_x(shape)} has one axis")
            return (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        order = tuple(self.axis(node, shape, number) for number in numbers)
        if sorted(order) != list(range(len(shape))):
            axes = ", ".join(map(str, range(len(shape))))
            refuse(node, f"does not name each axis of shape {by_x(shape)} once; order {axes}")
        return order

    def span(self, node: Expression) -> tuple[int, int, int]:
        """Return a slice's first element, its number of elements, and its step, as in Python."""
        (tensor,), numbers = parts(node)
        shape = self[tensor]
        size = shape[self.axis(node, shape, numbers[0])]
        start, stop = (None if math.isinf(n) else int(n) for n in numbers[1:3])
        step = int(numbers[3])
        if step == 0:
            refuse(node, "has step 0; give another step")
        found = range(*slice(start, stop, step).indices(size))
        return found.start, len(found), step


def is_scatter(node: Expression) -> bool:
    return node.primitive is Primitive.VIEW and node.name == "scatter"


def parts(node: Expression) -> tuple[tuple[Expression, ...], tuple[float, ...]]:
    """Return a view's tensors and its numbers."""
    tensors = tuple(a for a in node.arguments if a.primitive is not Primitive.CONSTANT)
    numbers = tuple(a.number for a in node.arguments if a.primitive is Primitive.CONSTANT)
    return tensors, numbers


def refuse(node: Expression, why: str) -> NoReturn:
    """Raise Unfit with the view as the user wrote it."""
    raise Unfit(node.name, f"{shown(node)} {why}")


def input_uses(*expressions: Expression) -> tuple[frozenset[str], frozenset[str]]:
    """Return the inputs that are read as values, and those that index a gather or scatter."""
    values: set[str] = set()
    indices: set[str] = set()
    seen: set[tuple[Expression, bool]] = set()

    def visit(node: Expression, is_index: bool) -> None:
        if (node, is_index) in seen:
            return
        seen.add((node, is_index))
        if node.primitive is Primitive.INPUT:
            (indices if is_index else values).add(node.name)
        indexed = node.primitive is Primitive.VIEW and node.name in INDEXED
        for i, argument in enumerate(node.arguments):
            visit(argument, is_index or (indexed and i == 1))

    for expression in expressions:
        visit(expression, False)
    return frozenset(values), frozenset(indices)
