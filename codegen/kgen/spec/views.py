"""What views mean: the shape that each has, and where an output's element takes its inputs'.

A view is never a tensor in memory. It is pushed down to the inputs: a function of elements at some
coordinates is that function of its arguments at theirs. What is left is an expression of *reads*,
each an input with an address map, and choices between them by *conditions* on the coordinates of
the output (`pad`, `concat`) or on an index that was read (`gather`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NoReturn

from kgen.errors import Unfit
from kgen.ops.expression import (
    Expression,
    Primitive,
    constant,
    infix,
    select,
    steps,
    variable,
    with_arguments,
)
from kgen.ops.views import INDEXED
from kgen.spec.formula import Shape, packed
from kgen_runtime.values import frozen

#: What kernels call values of their own; operands have other names.
KERNEL_WORDS = frozenset(
    {
        *("access", "at", "block", "done", "exists", "first", "in_block", "index", "inside"),
        *("offset", "rest", "result", "thread", "to", "vector"),
    }
)


@frozen
class Read:
    """An input, and which element of it an element of the output takes: `offset`, and for each of
    the output's coordinates so many `strides`, and for each place that an index gives, by the name
    of its condition, so many of it. There is one only where all conditions in `guards` hold.

    `name` is the operand's in the expression; `is_index`: it is what others are gathered by."""

    name: str
    tensor: str
    offset: int
    strides: Shape
    indices: tuple[tuple[str, int], ...] = ()
    guards: tuple[str, ...] = ()
    is_index: bool = False


@frozen
class Condition:
    """A truth value of the expression: the output's coordinate `axis` is in [low, high); or the
    `index` that is read, of which negative ones count from the end, is a place below `high`."""

    name: str
    axis: int = -1
    low: int = 0
    high: int = 0
    index: str = ""


@frozen
class Reads:
    """Expressions without views, one for each output: their operands are `reads` and
    `conditions`. `write` is where a scatter's output is written; others are, in order, as a whole.
    """

    expressions: tuple[Expression, ...]
    reads: tuple[Read, ...]
    conditions: tuple[Condition, ...]
    write: Read | None = None

    def read(self, name: str) -> Read:
        return next(r for r in self.reads if r.name == name)


@frozen
class Coordinate:
    """A tensor's coordinate along an axis: `start`, and `step` for each of the output's coordinate
    `axis`, or of the place that an `index` gives."""

    start: int = 0
    step: int = 0
    axis: int = -1
    index: str = ""

    def scaled(self, start: int, step: int) -> Coordinate:
        """start + step times this one."""
        return dataclasses.replace(self, start=start + step * self.start, step=step * self.step)


At = tuple[Coordinate, ...]


def input_uses(*expressions: Expression) -> tuple[frozenset[str], frozenset[str]]:
    """Inputs whose elements are numbers of them, and those by which others are gathered or
    scattered."""
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


class Shapes:
    """The shape of every part of an expression, from those of its inputs."""

    def __init__(
        self, inputs: Mapping[str, Shape], coordinates: Iterable[str] = frozenset()
    ) -> None:
        self.inputs = {**inputs, **dict.fromkeys(coordinates, ())}
        self.known: dict[Expression, Shape] = {}

    def __getitem__(self, node: Expression) -> Shape:
        """Raises SpecError for views and shapes that do not fit."""
        if node not in self.known:
            self.known[node] = self._shape(node)
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
                    _refuse(node, f"has no element of the {shapes[0][axis]} along axis {axis}")
                return (*shapes[0][:axis], count, *shapes[0][axis + 1 :])
            case "pad":
                axis = self.axis(node, shapes[0], numbers[0])
                if min(numbers[1:3]) < 0:
                    _refuse(node, "pads by less than 0; take elements away by slice")
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
        """The shape that several parts broadcast to."""
        shapes = [self[argument] for argument in arguments]
        rank = max(map(len, shapes))
        padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
        found = tuple(max(sizes) for sizes in zip(*padded, strict=True))
        for argument, given, shape in zip(arguments, shapes, padded, strict=True):
            if any(n not in (1, m) for n, m in zip(shape, found, strict=True)):
                raise Unfit(
                    argument.name,
                    f"{infix(argument)} of shape {by_x(given)} does not broadcast to "
                    f"{by_x(found)}; a size is that of the output, or 1",
                )
        return found

    def rows(self, node: Expression) -> Shape:
        """The shape of what a scatter writes."""
        (table, index, rows), numbers = parts(node)
        shape = self[table]
        axis = self.axis(node, shape, numbers[0])
        found = (*shape[:axis], *self[index], *shape[axis + 1 :])
        behind = found[len(found) - len(self[rows]) :]
        if len(self[rows]) > len(found) or any(
            n not in (1, m) for n, m in zip(self[rows], behind, strict=True)
        ):
            _refuse(node, f"writes rows of shape {by_x(self[rows])}; they are {by_x(found)}")
        return found

    def _concatenated(self, node: Expression, shapes: list[Shape], number: float) -> Shape:
        first = shapes[0]
        axis = self.axis(node, first, number)
        for shape in shapes[1:]:
            if len(shape) != len(first) or any(
                n != m for i, (n, m) in enumerate(zip(shape, first, strict=True)) if i != axis
            ):
                _refuse(
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
            _refuse(node, f"cannot make {by_x(sizes)} of shape {by_x(shape)}; only a 1 grows")
        return sizes

    def axis(self, node: Expression, shape: Shape, number: float) -> int:
        """An axis, of which negative numbers count from the end."""
        if not -len(shape) <= number < len(shape):
            _refuse(
                node,
                f"takes axis {number:g} of shape {by_x(shape)}; its axes are "
                f"{-len(shape)} to {len(shape) - 1}",
            )
        return int(number) % len(shape)

    def order(self, node: Expression) -> tuple[int, ...]:
        """The tensor's axis that each axis of a permutation is."""
        (tensor,), numbers = parts(node)
        shape = self[tensor]
        if node.name == "transpose":
            if len(shape) < 2:
                _refuse(node, f"swaps the last two axes, and shape {by_x(shape)} has one")
            return (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        order = tuple(self.axis(node, shape, number) for number in numbers)
        if sorted(order) != list(range(len(shape))):
            _refuse(node, f"does not name each axis of shape {by_x(shape)} once")
        return order

    def span(self, node: Expression) -> tuple[int, int, int]:
        """A slice's first element, how many it has, and the step between them, as Python's."""
        (tensor,), numbers = parts(node)
        shape = self[tensor]
        size = shape[self.axis(node, shape, numbers[0])]
        start, stop = (None if math.isinf(n) else int(n) for n in numbers[1:3])
        step = int(numbers[3])
        if step == 0:
            _refuse(node, "has step 0; give one above or below it")
        found = range(*slice(start, stop, step).indices(size))
        return found.start, len(found), step


def is_scatter(node: Expression) -> bool:
    return node.primitive is Primitive.VIEW and node.name == "scatter"


def parts(node: Expression) -> tuple[tuple[Expression, ...], tuple[float, ...]]:
    """A view's tensors and its numbers."""
    tensors = tuple(a for a in node.arguments if a.primitive is not Primitive.CONSTANT)
    numbers = tuple(a.number for a in node.arguments if a.primitive is Primitive.CONSTANT)
    return tensors, numbers


def _refuse(node: Expression, why: str) -> NoReturn:
    raise Unfit(node.name, f"{infix(node)} {why}")


def by_x(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "()"


def reads_of(
    formulas: Mapping[str, Expression],
    inputs: Mapping[str, Shape],
    out: Shape,
    coordinates: Collection[str] = frozenset(),
) -> Reads:
    """The outputs' expressions without views, for outputs of a shape; of names that are
    `coordinates` nothing is read. Raises SpecError for what cannot be read so."""
    return _Reader(inputs, out, formulas, coordinates).all()


class _Reader:
    """Pushes views down to the inputs."""

    def __init__(
        self,
        inputs: Mapping[str, Shape],
        out: Shape,
        formulas: Mapping[str, Expression],
        coordinates: Collection[str],
    ) -> None:
        self.inputs, self.out, self.formulas = inputs, out, formulas
        self.coordinates = coordinates
        self.index_inputs = input_uses(*formulas.values())[1]
        self.shapes = Shapes(inputs, coordinates)
        self.reads: dict[Read, Read] = {}
        self.conditions: dict[Condition, Condition] = {}
        self.done: dict[tuple[Expression, At, tuple[str, ...]], Expression] = {}
        self.names = {*inputs, *formulas, *coordinates}

    def all(self) -> Reads:
        at = tuple(Coordinate(step=1, axis=axis) for axis in range(len(self.out)))
        for name, e in self.formulas.items():
            if is_scatter(e):
                return self.scattered(name, e, at)
        found = tuple(self.expression(e, self.shared(e, at), ()) for e in self.formulas.values())
        return Reads(
            expressions=found,
            reads=tuple(self.reads.values()),
            conditions=tuple(self.conditions.values()),
        )

    def expression(self, node: Expression, at: At, guards: tuple[str, ...]) -> Expression:
        """A node at coordinates, of which there are as many as the node has axes."""
        key = node, at, guards
        if key not in self.done:
            self.done[key] = self._expression(node, at, guards)
        return self.done[key]

    def _expression(self, node: Expression, at: At, guards: tuple[str, ...]) -> Expression:
        if node.primitive is Primitive.CONSTANT or node.name in self.coordinates:
            return node
        if node.primitive is Primitive.INPUT:
            return variable(self.read(node, at, guards).name)
        if node.primitive is not Primitive.VIEW:
            found = tuple(self.expression(a, self.shared(a, at), guards) for a in node.arguments)
            return with_arguments(node, found)
        tensors, numbers = parts(node)
        tensor = tensors[0]
        match node.name:
            case "permute" | "transpose":
                order = self.shapes.order(node)
                return self.expression(
                    tensor, tuple(at[order.index(axis)] for axis in range(len(at))), guards
                )
            case "expand":
                return self.expression(tensor, self.shared(tensor, at), guards)
            case "gather":
                return self.gathered(node, at, guards)
        axis = self.shapes.axis(node, self.shapes[tensor], numbers[0])
        if node.name == "slice":
            start, _, step = self.shapes.span(node)
            return self.expression(tensor, moved(at, axis, start, step), guards)
        if node.name == "pad":
            return self.pieces(node, [(tensor, int(numbers[1]))], axis, at, guards, numbers[3])
        ends = [sum(self.shapes[t][axis] for t in tensors[:i]) for i in range(len(tensors))]
        return self.pieces(node, list(zip(tensors, ends, strict=True)), axis, at, guards, 0.0)

    def shared(self, node: Expression, at: At) -> At:
        """The coordinates of what broadcasts to a tensor at these."""
        shape = self.shapes[node]
        behind = at[len(at) - len(shape) :]
        return tuple(Coordinate() if n == 1 else c for n, c in zip(shape, behind, strict=True))

    def pieces(
        self,
        node: Expression,
        tensors: list[tuple[Expression, int]],
        axis: int,
        at: At,
        guards: tuple[str, ...],
        value: float,
    ) -> Expression:
        """What lies along an axis, each from its place on, and a value where nothing does."""
        found = constant(value)
        for i, (tensor, first) in reversed(list(enumerate(tensors))):
            inner = moved(at, axis, -first, 1)
            held = self.within(node, inner[axis], self.shapes[tensor][axis], guards)
            if held is False:
                continue
            if held is True:
                found = self.expression(tensor, inner, guards)
                continue
            here = self.expression(tensor, inner, (*guards, held))
            # The last piece is wherever no other one is.
            last = node.name == "concat" and i == len(tensors) - 1
            found = here if last else select(variable(held, truth=True), here, found)
        return found

    def within(
        self, node: Expression, c: Coordinate, size: int, guards: tuple[str, ...]
    ) -> str | bool:
        """Whether a coordinate is one of so many: the name of a condition, unless it is known where
        all guards hold."""
        if c.index:
            _refuse(node, "is gathered along its own axis; gather first, then pad or join that")
        if c.step == 0:
            return 0 <= c.start < size
        # Both ends of 0 <= start + step * coordinate < size, rounded inwards.
        below, above = (0, size - 1) if c.step > 0 else (size - 1, 0)
        known = [k for k in self.conditions.values() if k.axis == c.axis and k.name in guards]
        least, most = max([0, *(k.low for k in known)]), self.out[c.axis]
        most = min([most, *(k.high for k in known)])
        low = max(least, -((c.start - below) // c.step))
        high = min(most, (above - c.start) // c.step + 1)
        if low >= high:
            return False
        if (low, high) == (least, most):
            return True
        return self.condition(Condition(name="", axis=c.axis, low=low, high=high))

    def scattered(self, name: str, node: Expression, at: At) -> Reads:
        """The rows of a scatter at their own coordinates; and where its index says that they are
        written, unless it is no place of the table."""
        (table, index, rows), numbers = parts(node)
        axis, rank = self.shapes.axis(node, self.shapes[table], numbers[0]), len(self.shapes[index])
        place = self.place(node, index, at[axis : axis + rank], ())
        held = self.condition(Condition(name="", index=place, high=self.shapes[table][axis]))
        inner = (*at[:axis], Coordinate(step=1, index=held), *at[axis + rank :])
        found = self.expression(rows, self.shared(rows, at), ())
        return Reads(
            expressions=(found,),
            reads=tuple(self.reads.values()),
            conditions=tuple(self.conditions.values()),
            write=self.placed(name, self.shapes[table], inner, (held,)),
        )

    def gathered(self, node: Expression, at: At, guards: tuple[str, ...]) -> Expression:
        (table, index), numbers = parts(node)
        shape, rank = self.shapes[table], len(self.shapes[index])
        axis = self.shapes.axis(node, shape, numbers[0])
        place = self.place(node, index, at[axis : axis + rank], guards)
        held = self.condition(Condition(name="", index=place, high=shape[axis]))
        inner = (*at[:axis], Coordinate(step=1, index=held), *at[axis + rank :])
        found = self.expression(table, inner, (*guards, held))
        return select(variable(held, truth=True), found, constant(0.0))

    def place(self, node: Expression, index: Expression, at: At, guards: tuple[str, ...]) -> str:
        """The read of an index, which is an input, or one that is only looked at otherwise."""
        plain = {"permute", "transpose", "slice", "expand"}
        for step in steps(index):
            if step.primitive not in (Primitive.INPUT, Primitive.CONSTANT) and not (
                step.primitive is Primitive.VIEW and step.name in plain
            ):
                _refuse(node, f"has the index {infix(index)}; it is an input, or one permuted, "
                        "transposed, sliced or expanded")  # fmt: skip
        if any(c.index for c in at):
            _refuse(node, "has an index that is itself gathered; gather it in a kernel of its own")
        return self.expression(index, at, guards).name

    def read(self, node: Expression, at: At, guards: tuple[str, ...]) -> Read:
        return self.known(self.placed(node.name, self.inputs[node.name], at, guards))

    def placed(self, tensor: str, shape: Shape, at: At, guards: tuple[str, ...]) -> Read:
        """A tensor's elements at coordinates, without a name yet."""
        offset, strides, indices = 0, [0] * len(self.out), []
        for n, stride, c in zip(shape, packed(shape), at, strict=True):
            if n == 1:
                continue
            offset += stride * c.start
            if c.index:
                indices.append((c.index, stride * c.step))
            elif c.step:
                strides[c.axis] += stride * c.step
        return Read(
            name=tensor if tensor in self.formulas else "",
            tensor=tensor,
            offset=offset,
            strides=tuple(strides),
            indices=tuple(indices),
            guards=guards,
            is_index=tensor in self.index_inputs,
        )

    def known(self, read: Read) -> Read:
        """The read with a name: the input's own for the first one of it."""
        if read not in self.reads:
            taken = {r.name for r in self.reads.values()}
            taken |= KERNEL_WORDS
            name = self.unused(read.tensor) if read.tensor in taken else read.tensor
            self.reads[read] = dataclasses.replace(read, name=name)
        return self.reads[read]

    def condition(self, condition: Condition) -> str:
        if condition not in self.conditions:
            named = dataclasses.replace(condition, name=self.unused("within"))
            self.conditions[condition] = named
        return self.conditions[condition].name

    def unused(self, word: str) -> str:
        """A name that begins with a word and is no other's."""
        number = 2 if word in self.inputs else 1
        while f"{word}_{number}" in self.names:
            number += 1
        self.names.add(f"{word}_{number}")
        return f"{word}_{number}"


def moved(at: At, axis: int, start: int, step: int) -> At:
    """The coordinates with one of them start + step times what it was."""
    return (*at[:axis], at[axis].scaled(start, step), *at[axis + 1 :])
