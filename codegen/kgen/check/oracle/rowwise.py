"""Row-wise expressions in float64, with the error that a correct kernel may make.

Element by element as in :mod:`kgen.check.oracle.elementwise`; a value is an array of rows x
columns, or of rows x 1. A sum of n numbers is off by what they are, and by factor sqrt(n) u of the
sum of their sizes (N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
4.2): in whatever order it is made, rounding errors that are independent grow with the square root
of their number.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kgen.check.oracle.elementwise import Bounded, WholeArrays, WholeNumbers, finished
from kgen.check.oracle.tolerance import Estimate, rounding_unit
from kgen.check.tensors import Values, round_to
from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.evaluators import RowEvaluator
from kgen_runtime.expressions.formulas import Formulas, behind
from kgen_runtime.manifest import Tolerance

FOLDS: Mapping[str, Callable[..., Values]] = {
    "sum": np.sum,
    "prod": np.prod,
    "largest": np.max,
    "smallest": np.min,
}


class BoundedRows(RowEvaluator):
    """Rows of pairs of a value and its error."""

    def __init__(
        self, values: Mapping[str, Values], cols: int, target: Tolerance, compute: DType
    ) -> None:
        self.bounded = Bounded(values, target, compute)
        super().__init__(self.bounded.values, self.bounded.m)
        self.count, self.target, self.compute = cols, target, compute
        #: What a sum may be off by; the oracle's own is off by as much where it is in f64.
        self.unit = rounding_unit(compute)

    def value(self, at: ast.expr) -> Any:
        return self.constant(super().value(at))

    def constant(self, value: Any) -> Any:
        return value if isinstance(value, tuple) else self.bounded.constant(value, self.compute)

    def each(self, name: str, arguments: list[Any]) -> Any:
        return self.bounded.apply(name, arguments)

    def fold(self, name: str, x: Any) -> Any:
        value, error = self.columns(x)
        folded: Values = FOLDS[name](value, axis=1, keepdims=True)
        if name == "sum":
            found = self.sum_error(value, error, folded)
        elif name == "prod":
            found = self.product_error(value, error, folded)
        else:
            ends = [FOLDS[name](value + e, axis=1, keepdims=True) for e in (error, -error)]
            found = np.maximum(*(np.abs(end - folded) for end in ends))
        return folded, np.where(np.isfinite(folded), found, 0.0)

    def columns(self, x: Any) -> tuple[Values, Values]:
        """A value and its error in every column."""
        value, error = np.broadcast_arrays(*x)
        shape = (value.shape[0] if value.ndim else 1, self.count)
        return np.broadcast_to(value, shape), np.broadcast_to(error, shape)

    def sum_error(self, value: Values, error: Values, total: Values) -> Values:
        size = np.abs(value).sum(axis=1, keepdims=True)
        carried = error.sum(axis=1, keepdims=True)
        own = self.target.factor * math.sqrt(self.count) * self.unit * (size + carried)
        own = own + self.count * self.compute.smallest_subnormal
        # Whole numbers up to it are numbers of the type, and so are their sums.
        largest = 1.0 / self.compute.unit_roundoff
        whole = (np.rint(value) == value).all(axis=1, keepdims=True) & (size <= largest)
        own = np.where((whole & (carried == 0.0)) | (self.count == 1), 0.0, own)
        # Numbers of one sign or the other may be added up first.
        overflow = np.isfinite(total) & np.isinf(round_to(size, self.compute))
        return np.where(overflow, np.inf, carried + own)

    def product_error(self, value: Values, error: Values, product: Values) -> Values:
        relative = np.where(value == 0.0, 0.0, error / np.abs(value)).sum(axis=1, keepdims=True)
        own = self.count * self.unit if self.count > 1 else 0.0
        found = np.abs(product) * (np.expm1(relative) + own) + self.compute.smallest_normal * (
            self.count > 1
        )
        # What is multiplied first may be too large or too small.
        logs, smallest = np.log2(np.abs(value)), math.log2(self.compute.smallest_normal)
        high = np.where(logs > 0.0, logs, 0.0).sum(axis=1, keepdims=True) >= 1 - smallest
        low = np.where(logs < 0.0, logs, 0.0).sum(axis=1, keepdims=True) <= smallest
        zero = (value == 0.0).any(axis=1, keepdims=True)
        inexact = (error > 0.0).any(axis=1, keepdims=True)
        return np.where((zero & ~inexact & ~high) | ~(high | low), found, np.inf)

    def find(self, x: Any, value: Any) -> Any:
        """A column that may hold the value as well is as right as the first that does."""
        numbers, error = self.columns(x)
        found, margin = value
        first = np.argmax((numbers == found) | np.isnan(numbers), axis=1)[:, None]
        near = (np.abs(numbers - found) <= error + margin) | np.isnan(numbers)
        far = np.abs(np.arange(self.count) - first)
        off = np.where(near & ((error > 0.0) | (margin > 0.0)), far, 0).max(axis=1, keepdims=True)
        return first.astype(np.float64), off.astype(np.float64)


class WholeRows(RowEvaluator):
    """Rows of integers, which wrap around."""

    def __init__(self, values: Mapping[str, Values], cols: int, bits: int) -> None:
        super().__init__(values, WholeArrays())
        self.count = cols
        self.numbers = WholeNumbers({}, WholeArrays(), bits)

    def value(self, at: ast.expr) -> Any:
        return self.constant(super().value(at))

    def constant(self, value: Any) -> Any:
        return value if isinstance(value, np.ndarray) else np.asarray(value, np.int64)

    def each(self, name: str, arguments: list[Any]) -> Any:
        return self.numbers.apply(name, arguments)

    def columns(self, x: Values) -> Values:
        return np.broadcast_to(x, (x.shape[0] if x.ndim else 1, self.count))

    def fold(self, name: str, x: Any) -> Any:
        return self.numbers.wrapped(FOLDS[name](self.columns(x), axis=1, keepdims=True))

    def find(self, x: Any, value: Any) -> Any:
        return np.argmax(self.columns(x) == value, axis=1)[:, None]


def flushed(value: Values, error: Values, compute: DType) -> Values:
    """The error of results that are zero where they are subnormal."""
    size = np.abs(value)
    return np.where(size - error < compute.smallest_normal, np.maximum(error, size), error)


def estimate(
    formulas: Formulas,
    output: str,
    inputs: Mapping[str, Values],
    first_row: int,
    height: int,
    target: Tolerance,
    compute: DType = DType.F32,
    out: DType = DType.F32,
) -> Estimate:
    """An output's value and error for inputs that have been broadcast to rows x columns; the
    first of the rows is `first_row`, and `height` of them make a matrix."""
    rows, cols = next(iter(inputs.values())).shape
    kind = np.int64 if compute.is_integer else np.float64
    number = np.arange(first_row, first_row + rows, dtype=kind) % height
    places = {"column": np.arange(cols, dtype=kind)[None, :], "row": number[:, None]}
    found: Any = {**inputs, **places}
    needed = behind(formulas, output)
    if compute.is_integer:
        evaluator: RowEvaluator = WholeRows(found, cols, 8 * compute.itemsize)
        value, error = evaluator.outputs(needed)[output], np.zeros(())
    else:
        evaluator = BoundedRows(found, cols, target, compute)
        value, error = evaluator.outputs(needed)[output]
        if output in target.flushed_outputs:
            error = flushed(value, error, compute)
    return finished(value, error, np.broadcast_shapes(value.shape, (rows, 1)), compute, out)
