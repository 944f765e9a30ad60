"""Det: determinants of small square matrices, by formulas."""

from __future__ import annotations

from itertools import combinations

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.operators.registry import Operator, one
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression
from kgen.spec.shapes import by_x

#: Most rows of a matrix. A minor of n rows is a formula of 2n operands, and there are 2^n minors.
MOST_ROWS = 4


def det(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Det to a Laplace expansion along rows, which shares minors."""
    x = one(given)
    n = x.shape[-1] if x.rank > 1 else 0
    if not n or x.shape[-2] != n:
        raise b.refusal(f"has an input of shape {by_x(x.shape)}, not square matrices", CHANGE_MODEL)
    if n > MOST_ROWS:
        raise b.refusal(
            f"has matrices of {n} rows; {MOST_ROWS} is the limit", "compute it outside of the model"
        )

    def element(row: int, column: int) -> GraphValue:
        return b.slice(b.slice(x, x.rank - 2, row, 1), x.rank - 1, column, 1)

    minors: dict[tuple[int, ...], GraphValue] = {
        (column,): element(n - 1, column) for column in range(n)
    }
    for row in reversed(range(n - 1)):
        for columns in combinations(range(n), n - row):
            total: Expression | None = None
            for k, column in enumerate(columns):
                minor = minors[columns[:k] + columns[k + 1 :]]
                term = b.call("mul", element(row, column), minor)
                sign = "sub" if k % 2 else "add"
                total = term if total is None else b.call(sign, total, term)
            assert total is not None
            minors[columns] = b.formula(total, (*x.shape[:-2], 1, 1), x.dtype)
    return b.reshape(minors[tuple(range(n))], x.shape[:-2])


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="Det", family="element-wise", becomes="mul, add, sub", lower=det,
        unsupported="matrices of more than 4 rows",
    ),
)  # fmt: skip
