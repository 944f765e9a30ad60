"""Scalar reference of row-wise expressions, which computes a whole row at a time."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kgen_runtime.dtypes import DType, computed_in, input_dtypes, output_dtypes
from kgen_runtime.expressions import views
from kgen_runtime.expressions.evaluators import Integers, RowEvaluator
from kgen_runtime.expressions.formulas import behind, formulas_in, input_names, reduced
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.reference.elementwise import Broadcast, broadcast_shape, evaluator_of, number_of
from kgen_runtime.reference.numbers import Buffers, Element
from kgen_runtime.reference.sums import total


class ScalarRows(RowEvaluator):
    """Row-wise evaluator in a dtype. A value is a list with a number per column, or one number for
    all columns."""

    def __init__(self, values: Mapping[str, list[float]], count: int, compute: DType) -> None:
        super().__init__(values, Scalars())
        self.count = count
        self.number = int if compute.is_integer else float
        #: Evaluator of a single column.
        self.one = evaluator_of({}, compute)

    def value(self, at: Any) -> Any:
        found = super().value(at)
        return self.number(found) if isinstance(found, float) else found

    def each(self, name: str, arguments: list[Any]) -> Any:
        if not any(isinstance(argument, list) for argument in arguments):
            return self.one.apply(name, arguments)
        return list(map(self.one.function(name), *map(self.columns, arguments)))

    def columns(self, x: Any) -> list[Any]:
        return x if isinstance(x, list) else [x] * self.count

    def fold(self, name: str, x: Any) -> float:
        values: list[float] = self.columns(x)
        if isinstance(self.one, Integers):
            folds: dict[str, Callable[[list[float]], float]] = {
                "sum": sum,
                "prod": math.prod,
                "largest": max,
                "smallest": min,
            }
            return int(self.one.wrapped(folds[name](values)))
        if name == "sum":
            return total(values)
        if any(map(math.isnan, values)):
            return math.nan
        if name == "prod":
            return math.prod(values)
        return max(values) if name == "largest" else min(values)

    def find(self, x: Any, value: float) -> float:
        values = self.columns(x)
        found = next(i for i, v in enumerate(values) if v == value or math.isnan(v))
        return self.number(found)


def rowwise(spec: Mapping[str, Any], buffers: Buffers, output: str | None) -> Element:
    """Return the function that computes an output element by (row, column); the column of a reduced
    output is 0."""
    broadcast = Broadcast(*lifted(spec, buffers))
    name = output or broadcast.outputs[0]
    formulas = behind(broadcast.formulas, name)
    sizes = broadcast.sizes
    kept, folded = split_axes(len(sizes), spec["axes"])
    cols = math.prod(sizes[axis] for axis in folded)
    height = sizes[kept[-1]] if kept else 1
    last = kept + folded == list(range(len(sizes)))
    columns: Sequence[int] = range(cols)
    if not last:
        columns = [number_along(sizes, folded, i) for i in range(cols)]
    # Row and column axes are disjoint, so an element's offset is the sum of its row's and its
    # column's offset.
    places = broadcast.places(columns)
    compute = computed_in(broadcast.dtypes, output_dtypes(spec, len(broadcast.outputs)))
    kind = int if compute.is_integer else float

    @lru_cache(maxsize=16)
    def row_values(row: int) -> list[float]:
        found = broadcast.elements(number_along(sizes, kept, row), places)
        inputs = {name: list(map(kind, values)) for name, values in found.items()}
        inputs["column"] = list(map(kind, range(cols)))
        inputs["row"] = [kind(row % height)] * cols
        rows = ScalarRows(inputs, cols, compute)
        return rows.columns(rows.outputs(formulas)[name])

    return lambda index: kind(row_values(index[0])[index[1]])


def lifted(spec: Mapping[str, Any], buffers: Buffers) -> tuple[Mapping[str, Any], Buffers]:
    """Replace each view of a spec by an input, and return the new spec and buffers.

    The new buffers are contiguous copies of the views; without buffers nothing is copied.
    """
    formulas = formulas_in(spec["expression"])
    if not views.has_views(formulas):
        return spec, buffers
    names = input_names(formulas)
    shapes = {name: tuple(shape) for name, shape in zip(names, spec["shapes"], strict=True)}
    dtypes = dict(zip(names, input_dtypes(spec, len(names)), strict=True))
    plain, found = views.lifted(formulas)
    copies = dict(buffers)
    for name, at in found.items():
        (tensor,) = input_names({name: at})
        size = dtypes[tensor].itemsize
        dtypes[name], shapes[name] = dtypes[tensor], views.shape_of(at, shapes)
        if buffers:
            # To locate the elements of a view, evaluate it on a tensor whose values are element
            # numbers.
            of = {tensor: shapes[tensor]}
            elements = views.Elements(
                {name: at}, of, lambda of_tensor, index: number_of(index, shapes[of_tensor]), _none
            )
            places = itertools.product(*map(range, shapes[name]))
            numbers = (int(elements.output(name, index)) for index in places)
            whole = buffers[tensor]
            copies[name] = memoryview(b"".join(whole[n * size : (n + 1) * size] for n in numbers))
    left = input_names(plain)
    changed = {
        "expression": "; ".join(f"{name} = {ast.unparse(at)}" for name, at in plain.items()),
        "shapes": [list(shapes[name]) for name in left],
        "dtypes": [dtypes[name] for name in left],
    }
    return {**spec, **changed}, copies


def _none(name: str, arguments: list[Any]) -> Any:
    raise ValueError(f"{name} within a view of a row-wise expression")


def row_elements(spec: Mapping[str, Any], output: str) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield (row, column) and row-major number of every element of a row-wise output."""
    sizes = broadcast_shape(lifted(spec, {})[0]["shapes"])
    kept, folded = split_axes(len(sizes), spec["axes"])
    rows, cols = (math.prod(sizes[axis] for axis in axes) for axes in (kept, folded))
    if reduced(formulas_in(spec["expression"]))[output]:
        yield from (((row, 0), row) for row in range(rows))
        return
    for row, col in itertools.product(range(rows), range(cols)):
        yield (row, col), number_along(sizes, kept, row) + number_along(sizes, folded, col)


def split_axes(rank: int, axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the axes along which rows are numbered, and the reduced axes."""
    return [axis for axis in range(rank) if axis not in axes], sorted(axes)


def number_along(sizes: Sequence[int], axes: Sequence[int], i: int) -> int:
    """Return the row-major number of the i-th element along some axes of a contiguous tensor."""
    found = 0
    for axis in reversed(axes):
        i, coordinate = divmod(i, sizes[axis])
        found += coordinate * math.prod(sizes[axis + 1 :])
    return found
