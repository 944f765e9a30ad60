"""Row-wise expressions in float64, with the error bound of a correct kernel.

Functions of elements are those of :mod:`kgen.check.oracle.elementwise`; a value is an array of rows
x columns, or of rows x 1. The error of a sum of n numbers is the sum of their errors, plus factor
sqrt(n) u times the sum of their magnitudes (N. Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 4.2): in any order, independent rounding errors grow with the square
root of their number.
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
    """Evaluator of rows of (value, error) pairs."""

    def __init__(
        self, values: Mapping[str, Values], cols: int, target: Tolerance, compute: DType
    ) -> None:
        self.bounded = Bounded(values, target, compute)
        super().__init__(self.bounded.values, self.bounded.m)
        self.count, self.target, self.compute = cols, target, compute
        #: Roundoff of a sum. In f64 the oracle's own sum has the same error.
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
        bounded = np.isfinite(folded) | (np.isinf(folded) & (name == "prod"))
        return folded, np.where(bounded, found, 0.0)

    def columns(self, x: Any) -> tuple[Values, Values]:
        """Return a value and its error in every column."""
        value, error = np.broadcast_arrays(*x)
        shape = (value.shape[0] if value.ndim else 1, self.count)
        return np.broadcast_to(value, shape), np.broadcast_to(error, shape)

    def sum_error(self, value: Values, error: Values, total: Values) -> Values:
        size = np.abs(value).sum(axis=1, keepdims=True)
        carried = error.sum(axis=1, keepdims=True)
        own = self.target.factor * math.sqrt(self.count) * self.unit * (size + carried)
        own = own + self.count * self.compute.smallest_subnormal
        # Integers up to this size, and their sums, are exact in the type.
        largest = 1.0 / self.compute.unit_roundoff
        whole = (np.rint(value) == value).all(axis=1, keepdims=True) & (size <= largest)
        own = np.where((whole & (carried == 0.0)) | (self.count == 1), 0.0, own)
        # The kernel may add numbers of one sign first, and overflow.
        overflow = np.isfinite(total) & np.isinf(round_to(size, self.compute))
        return np.where(overflow, np.inf, carried + own)

    def product_error(self, value: Values, error: Values, product: Values) -> Values:
        relative = np.where(value == 0.0, 0.0, error / np.abs(value)).sum(axis=1, keepdims=True)
        own = self.count * self.unit if self.count > 1 else 0.0
        found = np.abs(product) * (np.expm1(relative) + own) + self.compute.smallest_normal * (
            self.count > 1
        )
        # Intermediate products may overflow or underflow, depending on the order.
        logs, smallest = np.log2(np.abs(value)), math.log2(self.compute.smallest_normal)
        high = np.where(logs > 0.0, logs, 0.0).sum(axis=1, keepdims=True) >= 1 - smallest
        low = np.where(logs < 0.0, logs, 0.0).sum(axis=1, keepdims=True) <= smallest
        zero = (value == 0.0).any(axis=1, keepdims=True)
        inexact = (error > 0.0).any(axis=1, keepdims=True)
        found = np.where((zero & ~inexact & ~high) | ~(high | low), found, np.inf)
        # An infinity times a part of the row that underflows to zero is NaN.
        return np.where(np.isinf(product), np.where(low, np.inf, 0.0), found)

    def find(self, x: Any, value: Any) -> Any:
        """Return the first column with the value, and how far another valid column may be.

        A column that may hold the value within its error is as correct as the first.
        """
        numbers, error = self.columns(x)
        found, margin = value
        first = np.argmax((numbers == found) | np.isnan(numbers), axis=1)[:, None]
        near = (np.abs(numbers - found) <= error + margin) | np.isnan(numbers)
        far = np.abs(np.arange(self.count) - first)
        off = np.where(near & ((error > 0.0) | (margin > 0.0)), far, 0).max(axis=1, keepdims=True)
        return first.astype(np.float64), off.astype(np.float64)


class WholeRows(RowEvaluator):
    """Evaluator of rows of integers, which wrap around."""

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
    """Return the error of results that are flushed to zero if subnormal."""
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
    """Return an output's value and error for inputs that were broadcast to rows x columns.

    `first_row` is the number of the first row; rows are numbered modulo `height`.
    """
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
