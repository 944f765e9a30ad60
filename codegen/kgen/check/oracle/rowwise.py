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

from kgen.check.oracle.elementwise import Bounded
from kgen.check.oracle.tolerance import Estimate
from kgen.check.tensors import Values, round_to
from kgen_runtime.definitions import Formulas, Rows, behind
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Tolerance

#: Whole numbers up to it are numbers of f32, and so are their sums.
WHOLE = 2.0**24
FOLDS: Mapping[str, Callable[..., Values]] = {
    "sum": np.sum,
    "prod": np.prod,
    "largest": np.max,
    "smallest": np.min,
}
#: The largest power of two, and the smallest normal one, of f32.
LARGEST_EXPONENT, SMALLEST_EXPONENT = 127, -126


class BoundedRows(Rows):
    """Rows of pairs of a value and its error."""

    def __init__(self, values: Mapping[str, Values], cols: int, target: Tolerance) -> None:
        self.bounded = Bounded(values, target)
        super().__init__(self.bounded.values, self.bounded.m)
        self.count, self.target = cols, target

    def value(self, at: ast.expr) -> Any:
        return self.constant(super().value(at))

    def constant(self, value: Any) -> Any:
        return value if isinstance(value, tuple) else self.bounded.constant(value)

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
        unit = DType.F32.unit_roundoff
        own = self.target.factor * math.sqrt(self.count) * unit * (size + carried)
        own = own + self.count * DType.F32.smallest_subnormal
        whole = (np.rint(value) == value).all(axis=1, keepdims=True) & (size <= WHOLE)
        own = np.where((whole & (carried == 0.0)) | (self.count == 1), 0.0, own)
        # Numbers of one sign or the other may be added up first.
        overflow = np.isfinite(total) & np.isinf(round_to(size, DType.F32))
        return np.where(overflow, np.inf, carried + own)

    def product_error(self, value: Values, error: Values, product: Values) -> Values:
        relative = np.where(value == 0.0, 0.0, error / np.abs(value)).sum(axis=1, keepdims=True)
        own = self.count * DType.F32.unit_roundoff if self.count > 1 else 0.0
        found = np.abs(product) * (np.expm1(relative) + own) + DType.F32.smallest_normal * (
            self.count > 1
        )
        # What is multiplied first may be too large or too small.
        logs = np.log2(np.abs(value))
        high = np.where(logs > 0.0, logs, 0.0).sum(axis=1, keepdims=True) >= LARGEST_EXPONENT
        low = np.where(logs < 0.0, logs, 0.0).sum(axis=1, keepdims=True) <= SMALLEST_EXPONENT
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


def estimate(
    formulas: Formulas,
    output: str,
    inputs: Mapping[str, Values],
    first_row: int,
    height: int,
    target: Tolerance,
) -> Estimate:
    """An output's value and error for inputs that have been broadcast to rows x columns; the
    first of the rows is `first_row`, and `height` of them make a matrix."""
    rows, cols = next(iter(inputs.values())).shape
    number = np.arange(first_row, first_row + rows, dtype=np.float64) % height
    places = {"column": np.arange(cols, dtype=np.float64)[None, :], "row": number[:, None]}
    evaluator = BoundedRows({**inputs, **places}, cols, target)
    value, error = evaluator.outputs(behind(formulas, output))[output]
    shape = np.broadcast_shapes(value.shape, (rows, 1))
    return Estimate(
        value=np.broadcast_to(value, shape).astype(np.float64),
        error=np.broadcast_to(error, shape).astype(np.float64),
        accumulate=DType.F32,
    )
