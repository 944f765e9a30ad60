"""Views in expressions (permute, slice, pad, gather, ...): shapes, and evaluation of single
elements.

The module is part of the scalar reference: it computes one output element at a time, by following
views down to elements of the inputs.
"""

from __future__ import annotations

import ast
import copy
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import mul
from typing import Any

from kgen_runtime.expressions.calls import VIEWS
from kgen_runtime.expressions.formulas import Formulas, input_names, number, terms

#: Number of tensor arguments of each view, before its numbers. 0: all but the last argument.
TENSORS = {name: signature.most or 0 for name, signature in VIEWS.items()}
#: Views whose second tensor has indices along an axis of the first.
INDEXED = frozenset({"gather", "scatter"})

#: Most axes of the shape of a subexpression, and most elements along an axis.
MOST_AXES, MOST_ELEMENTS = 16, 2**63 - 1

Shape = tuple[int, ...]
Index = tuple[int, ...]


def is_view(at: ast.expr) -> bool:
    return isinstance(at, ast.Call) and isinstance(at.func, ast.Name) and at.func.id in TENSORS


def has_views(formulas: Formulas) -> bool:
    return any(is_view(term) for at in formulas.values() for term in terms(at))


def parts(at: ast.expr) -> tuple[str, list[ast.expr], list[float]]:
    """Return a view's name, tensors and numbers."""
    assert isinstance(at, ast.Call) and isinstance(at.func, ast.Name)
    name = at.func.id
    count = TENSORS[name] or len(at.args) - 1
    return name, at.args[:count], [number(n) for n in at.args[count:]]


def gathers(formulas: Formulas) -> Iterator[tuple[ast.expr, ast.expr, float]]:
    """Yield the table, index and axis of each gather and scatter."""
    for at in formulas.values():
        for term in terms(at):
            if is_view(term):
                name, tensors, numbers = parts(term)
                if name in INDEXED:
                    yield tensors[0], tensors[1], numbers[0]


def index_names(formulas: Formulas) -> set[str]:
    """Return the names of the inputs that are used as indices."""
    return {name for _, by, _ in gathers(formulas) for name in input_names({"": by})}


def index_places(formulas: Formulas, inputs: Mapping[str, Shape]) -> dict[str, set[int]]:
    """Return, for each index input, the sizes of the axes that it indexes."""
    shapes = {**inputs, **shapes_of(formulas, inputs)}
    found: dict[str, set[int]] = {}
    for table, by, axis in gathers(formulas):
        shape = shape_of(table, shapes)
        for name in input_names({"": by}):
            found.setdefault(name, set()).add(shape[axis_of(axis, len(shape))])
    return found


def shapes_of(formulas: Formulas, inputs: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the shape of each output's expression. Raises ValueError if an expression has no
    shape."""
    known = dict(inputs)
    for name, at in formulas.items():
        known[name] = shape_of(at, known)
    return {name: known[name] for name in formulas}


def domain(formulas: Formulas, inputs: Mapping[str, Shape]) -> Shape:
    """Return the shape of all outputs, to which their expressions broadcast."""
    return broadcast(shapes_of(formulas, inputs).values())


def shape_of(at: ast.expr, inputs: Mapping[str, Shape]) -> Shape:
    """Return the shape of a subexpression. Raises ValueError if it has none or exceeds MOST_AXES or
    MOST_ELEMENTS, which repeated gathers and concats double."""
    found = _shape_of(at, inputs)
    if len(found) > MOST_AXES or max(found, default=0) > MOST_ELEMENTS:
        raise ValueError(f"a part has {len(found)} axes; {MOST_AXES} is the limit, of 2^63 each")
    return found


def _shape_of(at: ast.expr, inputs: Mapping[str, Shape]) -> Shape:
    if isinstance(at, ast.Name) and at.id in inputs:
        return inputs[at.id]
    if not isinstance(at, ast.Call):
        return ()
    if not is_view(at):
        return broadcast(shape_of(argument, inputs) for argument in at.args)
    name, tensors, numbers = parts(at)
    shapes = [shape_of(tensor, inputs) for tensor in tensors]
    shape = list(shapes[0])
    if name in ("permute", "transpose"):
        return tuple(shape[axis] for axis in permutation(name, len(shape), numbers))
    if name == "expand":
        sizes = tuple(map(int, numbers))
        if broadcast([tuple(shape), sizes]) != sizes:
            raise ValueError(f"{ast.unparse(at)} of {shape}")
        return sizes
    axis = axis_of(numbers[-1] if name in ("concat", *INDEXED) else numbers[0], len(shape))
    if name in INDEXED:
        rows = (*shape[:axis], *shapes[1], *shape[axis + 1 :])
        if name == "gather":
            return rows
        if broadcast([rows, shapes[2]]) != rows:
            raise ValueError(f"{ast.unparse(at)} of {shapes}")
        return tuple(shape)
    if name == "slice":
        shape[axis] = len(taken(numbers, shape[axis]))
    elif name == "pad":
        shape[axis] += int(numbers[1]) + int(numbers[2])
    else:
        others = {(*s[:axis], *s[axis + 1 :]) for s in shapes}
        if len(others) > 1:
            raise ValueError(f"{ast.unparse(at)} of {shapes}")
        shape[axis] = sum(s[axis] for s in shapes)
    if shape[axis] < 1:
        raise ValueError(f"{ast.unparse(at)} has no element")
    return tuple(shape)


def broadcast(shapes: Any) -> Shape:
    """Return the shape to which several shapes broadcast, by numpy's rules. Raises ValueError."""
    different = [shape for shape in dict.fromkeys(shapes) if shape]
    if len(different) <= 1:
        return different[0] if different else ()
    backwards = [shape[::-1] for shape in different]
    found: list[int] = []
    for axis in range(max(map(len, backwards), default=0)):
        sizes = {shape[axis] for shape in backwards if axis < len(shape)} - {1}
        if len(sizes) > 1:
            raise ValueError(f"shapes {[s[::-1] for s in backwards]} do not broadcast")
        found.append(*(sizes or {1}))
    return tuple(found[::-1])


def axis_of(number: float, rank: int) -> int:
    """Return the number of an axis; negative numbers count from the end. Raises ValueError."""
    if not -rank <= number < rank:
        raise ValueError(f"axis {number} of {rank}")
    return int(number) + (rank if number < 0 else 0)


def permutation(name: str, rank: int, numbers: Sequence[float]) -> list[int]:
    axes = [axis_of(number, rank) for number in numbers]
    if name == "transpose":
        axes = list(range(rank))
        axes[-2:] = axes[:-3:-1]
    if sorted(axes) != list(range(rank)):
        raise ValueError(f"{name} of {rank} axes by {axes}")
    return axes


def taken(numbers: Sequence[float], size: int) -> range:
    """Return the indices of a slice along its axis, like Python's slices; an infinite end means no
    end."""
    start, stop, step = (None if math.isinf(n) else int(n) for n in numbers[1:])
    return range(size)[start:stop:step]


def lifted(formulas: Formulas) -> tuple[Formulas, dict[str, ast.expr]]:
    """Replace every outermost view by an input with a new name. Return the expressions and the
    views by name."""
    lifting = _Lifting({*formulas, *input_names(formulas)})
    found = {name: lifting.visit(copy.deepcopy(at)) for name, at in formulas.items()}
    return found, {name: at for at, name in lifting.names.values()}


class _Lifting(ast.NodeTransformer):
    """Transformer that replaces views by names; equal views get the same name."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.names: dict[str, tuple[ast.expr, str]] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not is_view(node):
            self.generic_visit(node)
            return node
        text = ast.unparse(node)
        if text not in self.names:
            number = len(self.names)
            while f"view_{number}" in self.taken:
                number += 1
            self.taken.add(f"view_{number}")
            self.names[text] = node, f"view_{number}"
        return ast.Name(id=self.names[text][1], ctx=ast.Load())


class Elements:
    """Evaluator of single elements of outputs. `read` takes an input's name and coordinates,
    `apply` a function's name and arguments, `constant` the expression of a number."""

    def __init__(
        self,
        formulas: Formulas,
        inputs: Mapping[str, Shape],
        read: Callable[[str, Index], Any],
        apply: Callable[[str, list[Any]], Any],
        constant: Callable[[ast.expr], Any] = number,
    ) -> None:
        self.formulas, self.inputs = formulas, inputs
        self.read, self.apply, self.constant = read, apply, constant
        self.domain = domain(formulas, inputs)
        self._known = {**inputs, **shapes_of(formulas, inputs)}
        self._shapes: dict[ast.expr, Shape] = {}
        self._parts: dict[ast.expr, Callable[[Index], Any]] = {}
        # A later expression may use an earlier output many times.
        self._named = lru_cache(maxsize=1024)(self.value)

    def output(self, name: str, index: Index) -> Any:
        return self.shared(self.formulas[name], index)

    def shape(self, at: ast.expr) -> Shape:
        if at not in self._shapes:
            self._shapes[at] = shape_of(at, self._known)
        return self._shapes[at]

    def value(self, at: ast.expr, index: Index) -> Any:
        """Return an element of a subexpression."""
        return self._part(at)(index)

    def shared(self, at: ast.expr, index: Sequence[int]) -> Any:
        """Return the element of a subexpression at coordinates to which it broadcasts."""
        return self._broadcast_part(at)(index)

    def _part(self, at: ast.expr) -> Callable[[Index], Any]:
        """Return a function from coordinates to elements of a subexpression."""
        if at not in self._parts:
            self._parts[at] = self._made(at)
        return self._parts[at]

    def _made(self, at: ast.expr) -> Callable[[Index], Any]:
        if isinstance(at, ast.Name) and at.id in self.inputs:
            return partial(self.read, at.id)
        if isinstance(at, ast.Name) and at.id in self.formulas:
            return partial(self._named, self.formulas[at.id])
        if not isinstance(at, ast.Call):
            constant = self.constant(at)
            return lambda index: constant
        if is_view(at):
            return lambda index: self.viewed(at, list(index))
        assert isinstance(at.func, ast.Name)
        name, arguments = at.func.id, [self._broadcast_part(argument) for argument in at.args]
        return lambda index: self.apply(name, [argument(index) for argument in arguments])

    def _broadcast_part(self, at: ast.expr) -> Callable[[Sequence[int]], Any]:
        """Return a function from coordinates to which a subexpression broadcasts to its
        elements."""
        shape, part = self.shape(at), self._part(at)
        rank = len(shape)
        if all(n == 1 for n in shape):
            return lambda index: part((0,) * rank)
        if 1 not in shape:
            return lambda index: part(tuple(index[len(index) - rank :]))
        steps = [int(n != 1) for n in shape]
        return lambda index: part(tuple(map(mul, index[len(index) - rank :], steps)))

    def viewed(self, at: ast.expr, index: list[int]) -> Any:
        name, tensors, numbers = parts(at)
        shape = self.shape(tensors[0])
        if name == "expand":
            return self.shared(tensors[0], index)
        if name in ("permute", "transpose"):
            found = [0] * len(shape)
            for i, axis in zip(index, permutation(name, len(shape), numbers), strict=True):
                found[axis] = i
            return self.value(tensors[0], tuple(found))
        axis = axis_of(numbers[-1] if name in ("concat", *INDEXED) else numbers[0], len(shape))
        if name == "gather":
            return self.gathered(tensors, axis, index)
        if name == "scatter":
            return self.scattered(tensors, axis, index)
        if name == "slice":
            index[axis] = taken(numbers, shape[axis])[index[axis]]
            return self.value(tensors[0], tuple(index))
        if name == "pad":
            index[axis] -= int(numbers[1])
            inside = 0 <= index[axis] < shape[axis]
            return self.value(tensors[0], tuple(index)) if inside else numbers[3]
        for tensor in tensors:
            size = self.shape(tensor)[axis]
            if index[axis] < size:
                return self.value(tensor, tuple(index))
            index[axis] -= size
        raise IndexError(index)

    def gathered(self, tensors: list[ast.expr], axis: int, index: list[int]) -> Any:
        """Return an element of a gather; zero if the index is out of range. Negative indices count
        from the end."""
        table, by = tensors
        size, rank = self.shape(table)[axis], len(self.shape(by))
        place = self.value(by, tuple(index[axis : axis + rank]))
        if not -size <= place < size:
            return 0.0
        row = int(place) if place >= 0 else int(place) + size
        return self.value(table, (*index[:axis], row, *index[axis + rank :]))

    def scattered(self, tensors: list[ast.expr], axis: int, index: list[int]) -> Any:
        """Return an element of a scatter: from the row whose index selects this position, or from
        the table if there is none."""
        table, by, rows = tensors
        size, coordinate = self.shape(table)[axis], index[axis]
        for at in itertools.product(*map(range, self.shape(by))):
            if self.value(by, at) in (coordinate, coordinate - size):
                return self.shared(rows, (*index[:axis], *at, *index[axis + 1 :]))
        return self.value(table, tuple(index))
