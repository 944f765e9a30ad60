"""Row-wise functions, with one entry each, over reductions of whole rows.

A row extends along the reduced axes. An expansion says what is folded and how the result is used.
Which lanes hold the row, and how often memory is read, is decided by the plan
(`kgen.targets.rows`). The reference computes the same functions from their definitions
(:mod:`kgen_runtime.expressions.definitions`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping

from kgen.ops.expression import Expression, Number, node, reduce, select, variable
from kgen.ops.expression import Primitive as P
from kgen.ops.functions.exponentials import exp, log
from kgen.ops.registry import EXACT, ScalarFunction, register
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Names of an element's coordinates in an expression: its index along the reduced axes, and along
#: the last other axis.
COLUMN, ROW = "column", "row"
COORDINATES = frozenset({COLUMN, ROW})


@frozen
class Reduction:
    """Reduction: how two values are combined; `identity` changes no value."""

    combine: P
    identity: float

    def identity_of(self, compute: DType) -> float:
        """Return the identity in a compute type; for integers a limit replaces infinity."""
        if compute.is_integer and math.isinf(self.identity):
            assert compute.limits is not None
            least, largest = compute.limits
            return int(least if self.identity < 0.0 else largest)
        return self.identity


REDUCTIONS: Mapping[str, Reduction] = {
    "sum": Reduction(combine=P.ADD, identity=0.0),
    "prod": Reduction(combine=P.MUL, identity=1.0),
    "max": Reduction(combine=P.MAX, identity=-math.inf),
    "min": Reduction(combine=P.MIN, identity=math.inf),
    "maxnum": Reduction(combine=P.MAXNUM, identity=-math.inf),
}


@frozen
class RowFacts:
    """Facts on rows of `count` columns, for expansions of row-wise functions."""

    count: int

    @property
    def column(self) -> Expression:
        """The index of an element's column."""
        return variable(COLUMN)

    def sum(self, x: Expression) -> Expression:
        return reduce("sum", x)

    def mean(self, x: Expression) -> Expression:
        return self.sum(x) * (1.0 / self.count)

    def prod(self, x: Expression) -> Expression:
        return reduce("prod", x)

    def max(self, x: Expression) -> Expression:
        return reduce("max", x)

    def min(self, x: Expression) -> Expression:
        return reduce("min", x)

    def maxnum(self, x: Expression) -> Expression:
        """Return the largest number; NaN in the row may be ignored."""
        return reduce("maxnum", x)


def row_function(*, reduces: bool = False) -> Callable[[Callable[..., Expression]], None]:
    """Register the decorated function under its own name, less a final underscore."""

    def add(expand: Callable[..., Expression]) -> None:
        _, *parameters = inspect.signature(expand).parameters.values()
        given = [p.default for p in parameters if p.default is not p.empty]
        register(
            ScalarFunction(
                name=expand.__name__.rstrip("_"),
                expand=expand,
                accuracy=EXACT,
                parameters=tuple(p.name for p in parameters),
                defaults=tuple(map(float, given)),
                rowwise=True,
                reduces=reduces,
            )
        )

    return add


# -- reductions -------------------------------------------------------------------------------


@row_function(reduces=True)
def sum_(row: RowFacts, x: Expression) -> Expression:
    """Sum of the row."""
    return row.sum(x)


@row_function(reduces=True)
def mean(row: RowFacts, x: Expression) -> Expression:
    """Mean of the row."""
    return row.mean(x)


@row_function(reduces=True)
def amax(row: RowFacts, x: Expression) -> Expression:
    """Largest element; NaN in a row that holds NaN."""
    return row.max(x)


@row_function(reduces=True)
def amin(row: RowFacts, x: Expression) -> Expression:
    """Smallest element; NaN in a row that holds NaN."""
    return row.min(x)


@row_function(reduces=True)
def prod(row: RowFacts, x: Expression) -> Expression:
    """Product of the row. Its error has no bound if products of a part of the row overflow or
    underflow."""
    return row.prod(x)


@row_function(reduces=True)
def l1(row: RowFacts, x: Expression) -> Expression:
    """Sum of magnitudes."""
    return row.sum(node(P.ABS, x))


@row_function(reduces=True)
def l2(row: RowFacts, x: Expression) -> Expression:
    """Square root of the sum of squares."""
    return node(P.SQRT, row.sum(x * x))


@row_function(reduces=True)
def logsumexp(row: RowFacts, x: Expression) -> Expression:
    """Logarithm of the sum of exponentials.

    From the maximum m: m + log(sum(exp(x - m))). An infinite m is not subtracted, and is the
    result."""
    top = row.maxnum(x)
    top = select(node(P.ABS, top) < math.inf, top, 0.0)
    return top + log(row.sum(exp(x - top)))


@row_function(reduces=True)
def var(row: RowFacts, x: Expression) -> Expression:
    """Variance `mean(square(x - mean(x)))`; divided by n - 1 it is
    `sum(square(x - mean(x))) / (n - 1)`.

    Two passes, so that a large mean costs no digits.
    """
    distance = x - row.mean(x)
    return row.mean(distance * distance)


@row_function(reduces=True)
def argmax(row: RowFacts, x: Expression) -> Expression:
    """First column with the largest element; the first NaN in a row that holds NaN."""
    return _first(row, x, row.max(x))


@row_function(reduces=True)
def argmin(row: RowFacts, x: Expression) -> Expression:
    """First column with the smallest element; the first NaN in a row that holds NaN."""
    return _first(row, x, row.min(x))


def _first(row: RowFacts, x: Expression, value: Expression) -> Expression:
    """Return the index of the first column with this value; NaN matches NaN."""
    found = x.equals(value) | ~x.equals(x)
    return row.min(select(found, row.column, float(row.count)))


# -- normalizations ---------------------------------------------------------------------------


@row_function()
def softmax(row: RowFacts, x: Expression) -> Expression:
    """`exp(x) / sum(exp(x))`; NaN in a row that holds NaN, +inf, or -inf only.

    From the maximum m: exp(x - m) / sum(exp(x - m))."""
    terms = exp(x - row.maxnum(x))
    return terms * node(P.RECIPROCAL, row.sum(terms))


@row_function()
def log_softmax(row: RowFacts, x: Expression) -> Expression:
    """`log(softmax(x))`; NaN in a row that holds NaN, +inf, or -inf only."""
    below = x - row.maxnum(x)
    return below - log(row.sum(exp(below)))


@row_function()
def layer_norm(
    row: RowFacts, x: Expression, scale: Number = 1.0, shift: Number = 0.0, epsilon: Number = 1e-5
) -> Expression:
    """`(x - mean(x)) * rsqrt(var(x) + epsilon) * scale + shift`. Rows over the positions of a
    channel give instance normalization; rows over a group's axes
    (`x=8x4x8x28x28,w=4x8x1x1,b=4x8x1x1 --axes 2,3,4`) give group normalization.

    J. L. Ba et al., "Layer Normalization", 2016, equation 4.
    """
    distance = x - row.mean(x)
    normal = distance * node(P.RSQRT, row.mean(distance * distance) + epsilon)
    return normal * scale + shift


@row_function()
def rms_norm(
    row: RowFacts, x: Expression, scale: Number = 1.0, epsilon: Number = 1e-5
) -> Expression:
    """`x * rsqrt(mean(square(x)) + epsilon) * scale`.

    B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", 2019, equation 4."""
    return x * node(P.RSQRT, row.mean(x * x) + epsilon) * scale
