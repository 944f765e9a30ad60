"""Address maps of views: the input elements that each output element reads.

A view is never stored as a tensor. Views are pushed down to the inputs: an element of f(a, b) at
some coordinates is f of the elements of a and b at the corresponding coordinates. The result is an
expression of *reads*, each an input with an affine address map. *Conditions* choose between reads,
either on the coordinates of the output (`pad`, `concat`) or on an index that was read (`gather`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from kgen.ops.expression import (
    Expression,
    Primitive,
    constant,
    select,
    shown,
    steps,
    variable,
    with_arguments,
)
from kgen.spec.inference import Shapes, input_uses, is_scatter, parts, refuse
from kgen.spec.shapes import Shape, packed
from kgen_runtime.values import frozen

#: Names that kernels use themselves, so that operands cannot have them.
KERNEL_WORDS = frozenset(
    {
        *("access", "at", "block", "done", "exists", "first", "in_block", "index", "inside"),
        *("offset", "rest", "result", "thread", "to", "vector"),
    }
)


@frozen
class Read:
    """Affine address map of an input: the element that each output element reads.

    The address is `offset`, plus each output coordinate times its number in `strides`, plus a
    stride for each position that a gather's index gives, listed in `indices` by the name of its
    condition. The read takes place only where all conditions in `guards` hold. `name` is the
    operand's name in the expression, and `is_index` says that the values are indices.
    """

    name: str
    tensor: str
    offset: int
    strides: Shape
    indices: tuple[tuple[str, int], ...] = ()
    guards: tuple[str, ...] = ()
    is_index: bool = False


@frozen
class ReadCondition:
    """Condition on coordinates, a truth value of the expression.

    Either the output's coordinate `axis` lies in [low, high), or the value of the tensor `index`,
    whose negative values count from the end, is a valid position below `high`.
    """

    name: str
    axis: int = -1
    low: int = 0
    high: int = 0
    index: str = ""


@frozen
class Reads:
    """Expressions without views, one for each output, whose operands are `reads` and `conditions`.

    `write` is the address map of a scatter's output; all other outputs are written whole, in order.
    """

    expressions: tuple[Expression, ...]
    reads: tuple[Read, ...]
    conditions: tuple[ReadCondition, ...]
    write: Read | None = None

    def read(self, name: str) -> Read:
        return next(r for r in self.reads if r.name == name)


@frozen
class Coordinate:
    """Affine coordinate of a tensor along one axis: start + step * c.

    c is the output's coordinate `axis`, or the position that an `index` gives.
    """

    start: int = 0
    step: int = 0
    axis: int = -1
    index: str = ""

    def scaled(self, start: int, step: int) -> Coordinate:
        """Return start + step * this coordinate."""
        return dataclasses.replace(self, start=start + step * self.start, step=step * self.step)


At = tuple[Coordinate, ...]


def reads_of(
    formulas: Mapping[str, Expression],
    inputs: Mapping[str, Shape],
    out: Shape,
    coordinates: Collection[str] = frozenset(),
) -> Reads:
    """Return the outputs' expressions without views, for outputs of shape `out`.

    Names in `coordinates` are not inputs and are not read. Raises SpecError for views without an
    address map.
    """
    return _ViewPusher(inputs, out, formulas, coordinates).all()


class _ViewPusher:
    """Pass that pushes the views of expressions down to their inputs."""

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
        self.conditions: dict[ReadCondition, ReadCondition] = {}
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
        """Return a node's expression at coordinates, one for each of its axes."""
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
        """Return the coordinates of a node that broadcasts to a tensor with these coordinates."""
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
        """Return tensors placed along an axis, each from its offset, with `value` between them."""
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
            # Elements outside all other pieces of a concat belong to the last.
            last = node.name == "concat" and i == len(tensors) - 1
            found = here if last else select(variable(held, truth=True), here, found)
        return found

    def within(
        self, node: Expression, c: Coordinate, size: int, guards: tuple[str, ...]
    ) -> str | bool:
        """Return whether a coordinate lies in [0, size), given that all guards hold.

        The result is True or False if this is known, else the name of a condition.
        """
        if c.index:
            refuse(node, "is gathered along its own axis; gather first, then pad or join that")
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
        return self.condition(ReadCondition(name="", axis=c.axis, low=low, high=high))

    def scattered(self, name: str, node: Expression, at: At) -> Reads:
        """Return the reads of a scatter's rows, and the address map of its writes.

        Rows whose index is no position of the table are not written.
        """
        (table, index, rows), numbers = parts(node)
        axis, rank = self.shapes.axis(node, self.shapes[table], numbers[0]), len(self.shapes[index])
        place = self.place(node, index, at[axis : axis + rank], ())
        held = self.condition(ReadCondition(name="", index=place, high=self.shapes[table][axis]))
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
        held = self.condition(ReadCondition(name="", index=place, high=shape[axis]))
        inner = (*at[:axis], Coordinate(step=1, index=held), *at[axis + rank :])
        found = self.expression(table, inner, (*guards, held))
        return select(variable(held, truth=True), found, constant(0.0))

    def place(self, node: Expression, index: Expression, at: At, guards: tuple[str, ...]) -> str:
        """Return the name of the read of an index: an input, or a permuted or sliced one."""
        plain = {"permute", "transpose", "slice", "expand"}
        for step in steps(index):
            if step.primitive not in (Primitive.INPUT, Primitive.CONSTANT) and not (
                step.primitive is Primitive.VIEW and step.name in plain
            ):
                refuse(node, f"has the index {shown(index)}; use an input, or a permuted, "
                        "transposed, sliced or expanded one")  # fmt: skip
        if any(c.index for c in at):
            refuse(node, "has an index that is itself gathered; gather it in a kernel of its own")
        return self.expression(index, at, guards).name

    def read(self, node: Expression, at: At, guards: tuple[str, ...]) -> Read:
        return self.known(self.placed(node.name, self.inputs[node.name], at, guards))

    def placed(self, tensor: str, shape: Shape, at: At, guards: tuple[str, ...]) -> Read:
        """Return the read, still without a name, of a tensor's elements at coordinates."""
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
        """Return an equal read that has a name; the first read of an input has the input's name."""
        if read not in self.reads:
            taken = {r.name for r in self.reads.values()}
            taken |= KERNEL_WORDS
            name = self.unused(read.tensor) if read.tensor in taken else read.tensor
            self.reads[read] = dataclasses.replace(read, name=name)
        return self.reads[read]

    def condition(self, condition: ReadCondition) -> str:
        if condition not in self.conditions:
            named = dataclasses.replace(condition, name=self.unused("within"))
            self.conditions[condition] = named
        return self.conditions[condition].name

    def unused(self, word: str) -> str:
        """Return an unused name that begins with a word."""
        number = 2 if word in self.inputs else 1
        while f"{word}_{number}" in self.names:
            number += 1
        self.names.add(f"{word}_{number}")
        return f"{word}_{number}"


def moved(at: At, axis: int, start: int, step: int) -> At:
    """Return the coordinates with that of one axis replaced by itself at start + step * c."""
    return (*at[:axis], at[axis].scaled(start, step), *at[axis + 1 :])
