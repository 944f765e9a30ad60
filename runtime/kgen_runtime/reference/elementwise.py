"""Scalar reference of element-wise expressions over broadcast inputs, with or without views."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import mul
from typing import Any

from kgen_runtime.dtypes import DType, computed_in, input_dtypes, output_dtypes
from kgen_runtime.expressions import views
from kgen_runtime.expressions.evaluators import Evaluator, Integers
from kgen_runtime.expressions.formulas import Formulas, behind, formulas_in, input_names
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.reference.numbers import UNSIGNED, Buffers, Element, at, decode, read


def elementwise(spec: Mapping[str, Any], buffers: Buffers, output: str | None) -> Element:
    """Return the function that computes an output element by its row-major number."""
    if views.has_views(formulas_in(spec["expression"])):
        return _viewed(spec, buffers, output)
    broadcast = Broadcast(spec, buffers)
    name = output or broadcast.outputs[0]
    compute = computed_in(broadcast.dtypes, output_dtypes(spec, len(broadcast.outputs)))
    value = evaluation(behind(broadcast.formulas, name), name, broadcast.names, compute)

    # Special values repeat often in test data.
    @lru_cache(maxsize=4096)
    def result(*bits: int) -> float:
        return value(map(decode, bits, broadcast.dtypes))

    return lambda index: result(*broadcast.bits(index[0]))


def _viewed(spec: Mapping[str, Any], buffers: Buffers, output: str | None) -> Element:
    """Return the function that computes an element of an expression with views, by its row-major
    number."""
    formulas = formulas_in(spec["expression"])
    names = input_names(formulas)
    shapes = {n: tuple(shape) for n, shape in zip(names, spec["shapes"], strict=True)}
    dtypes = dict(zip(names, input_dtypes(spec, len(names)), strict=True))
    indices = views.index_names(formulas)
    numbers = [dtypes[name] for name in names if name not in indices]
    compute = computed_in(numbers, output_dtypes(spec, len(formulas)))
    dtypes |= {name: DType(spec["index_dtype"]) for name in indices}

    def read_at(name: str, index: tuple[int, ...]) -> float:
        value = read(buffers[name], number_of(index, shapes[name]), dtypes[name])
        return value if compute.is_integer or name in indices else float(value)

    evaluator = evaluator_of({}, compute)
    elements = views.Elements(formulas, shapes, read_at, evaluator.apply, evaluator.value)
    name = output or next(iter(formulas))

    def element(index: tuple[int, ...]) -> float:
        coordinates, left = [], index[0]
        for size in reversed(elements.domain):
            left, coordinate = divmod(left, size)
            coordinates.append(coordinate)
        found = elements.output(name, tuple(reversed(coordinates)))
        return int(found) if compute.is_integer else float(found)

    return element


def number_of(index: Sequence[int], shape: Sequence[int]) -> int:
    """Return the row-major number of an element of a contiguous tensor."""
    number = 0
    for i, size in zip(index, shape, strict=True):
        assert 0 <= i < size
        number = number * size + i
    return number


def evaluator_of(values: Mapping[str, float], compute: DType) -> Evaluator:
    """Return the evaluator of an expression that is computed in a dtype."""
    if compute.is_integer:
        return Integers(values, Scalars(), 8 * compute.itemsize)
    numbers = {name: float(value) for name, value in values.items()}
    return Evaluator(numbers, Scalars())


def evaluation(
    formulas: Formulas, output: str, names: Sequence[str], compute: DType
) -> Callable[[Iterable[float]], float]:
    """Return a function from the values of the inputs `names` to an output, computed in a dtype;
    the result is an int for integer types."""
    evaluator = evaluator_of({}, compute)
    kind = int if compute.is_integer else float
    known = [*names]
    steps: list[Callable[[Sequence[float]], float]] = []
    for name, formula in formulas.items():
        steps.append(evaluator.compiled(formula, known))
        known.append(name)
    place = known.index(output)

    def value(inputs: Iterable[float]) -> float:
        values = list(inputs if kind is int else map(float, inputs))
        for step in steps:
            values.append(step(values))
        return kind(values[place])

    return value


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> list[int]:
    """Return the shape to which inputs of these shapes broadcast."""
    rank = max(map(len, shapes))
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    return [max(column) for column in zip(*padded, strict=True)]


class Broadcast:
    """Inputs of an expression, read as if all had the common broadcast shape."""

    def __init__(self, spec: Mapping[str, Any], buffers: Buffers) -> None:
        self.formulas = formulas_in(spec["expression"])
        self.outputs = list(self.formulas)
        self.names = input_names(self.formulas)
        self.dtypes = input_dtypes(spec, len(self.names))
        self._buffers = buffers
        self._words = [
            buffers[name].cast(UNSIGNED[dtype.itemsize])
            for name, dtype in zip(self.names, self.dtypes, strict=True)
        ]
        self.sizes = broadcast_shape(spec["shapes"])
        rank = len(self.sizes)
        padded = [[1] * (rank - len(shape)) + list(shape) for shape in spec["shapes"]]
        #: Strides of the inputs that are broadcast. The others have the offsets of the common
        #: shape.
        self._strides = {
            i: [math.prod(shape[axis + 1 :]) if n > 1 else 0 for axis, n in enumerate(shape)]
            for i, shape in enumerate(padded)
            if shape != self.sizes
        }

    def offsets(self, number: int) -> list[int]:
        """Return the offset in each input of an element of the common shape."""
        found = [number] * len(self.names)
        if self._strides:
            coordinates = []
            left = number
            for size in reversed(self.sizes):
                left, coordinate = divmod(left, size)
                coordinates.append(coordinate)
            for i, steps in self._strides.items():
                found[i] = sum(map(mul, reversed(coordinates), steps))
        return found

    def bits(self, number: int) -> list[int]:
        """Return the bits of one element of the common shape, for each input."""
        return [view[at] for view, at in zip(self._words, self.offsets(number), strict=True)]

    def places(self, numbers: Sequence[int]) -> list[Sequence[int]]:
        """Return, for each input, the offsets of these elements of the common shape."""
        if not self._strides:
            return [numbers] * len(self.names)
        found = list(zip(*map(self.offsets, numbers), strict=True))
        return [found[i] if i in self._strides else numbers for i in range(len(self.names))]

    def elements(self, first: int, places: Sequence[Sequence[int]]) -> dict[str, list[float]]:
        """Return the elements of each input at `places`, which are relative to the element `first`
        of the common shape."""
        given = zip(self.names, self.dtypes, self.offsets(first), places, strict=True)
        return {name: at(self._buffers[name], start, p, dtype) for name, dtype, start, p in given}
