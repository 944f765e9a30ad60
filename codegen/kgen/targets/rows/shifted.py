"""Variances in one reading of the row, by shifted sums: of x - a, a the mean of the row's first
columns, and of its square.

T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for Computing the Sample Variance: Analysis
and Recommendations", The American Statistician 37, 1983. With d = mean(x) - a the variance is
mean((x - a)^2) - d^2, so the relative error of the sums counts up to 1 + 2 d^2 / var times. Where
h of n columns give a, d^2 / var is less than n / h however large the mean is: h columns whose mean
is d from that of all make a variance of d^2 h / (n - h) at least.
"""

from __future__ import annotations

from dataclasses import replace

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.ops.expression import node, reduce, select, variable, with_arguments
from kgen.ops.patterns import bound
from kgen.ops.rows import COLUMN
from kgen.targets.rows.folds_and_phases import RowFold, RowPhase

_X = variable("x")
_DISTANCE = _X - reduce("sum", _X) * variable("share")
_SQUARES = reduce("sum", _DISTANCE * _DISTANCE)
_FIRST = select(variable("column") < variable("head"), _X, variable("other"))


def with_shift(expression: Expression, head: int) -> Expression:
    """Return the expression in which each sum of (x - mean(x))^2 is made of sums of x - a, with a
    the mean of the first `head` columns."""
    done: dict[Expression, Expression] = {}
    changed: dict[Expression, Expression] = {}
    for squares in steps(expression):
        if (mean := mean_of(squares)) is None:
            continue
        total, share = mean.arguments
        (x,) = total.arguments
        first = reduce("sum", select(variable(COLUMN) < head, x, 0.0)) * (1.0 / head)
        distance = x - first
        distances = reduce("sum", distance)
        shifted = reduce("sum", distance * distance) - distances * distances * share
        changed[mean] = first + distances * share
        changed[squares] = node(P.MAX, shifted, 0.0)
    for step in steps(expression):
        moved = with_arguments(step, tuple(done[a] for a in step.arguments))
        done[step] = changed.get(step, moved)
    return done[expression]


def mean_of(squares: Expression) -> Expression | None:
    """Return mean(x), as a product, if the step is the sum of (x - mean(x))^2, else None."""
    found = bound(_SQUARES, squares)
    return None if found is None else reduce("sum", found["x"]) * found["share"]


def head_of(phase: RowPhase) -> int:
    """Return the number of first columns that the phase folds alone; 0 for all."""
    heads = {_head(fold)[0] for fold in phase.folds}
    return heads.pop() if len(heads) == 1 else 0


def in_head(phase: RowPhase) -> RowPhase:
    """Return the phase for columns that are all among the first ones."""
    folds = tuple(
        replace(fold, step=reduce(fold.step.name, _head(fold)[1])) for fold in phase.folds
    )
    return replace(phase, folds=folds, wanted=tuple(fold.argument for fold in folds))


def _head(fold: RowFold) -> tuple[int, Expression]:
    """Return the number of first columns that alone are folded, and the folded expression."""
    found = bound(_FIRST, fold.argument)
    if found is None or found["column"] is not variable(COLUMN):
        return 0, fold.argument
    head, other = found["head"], found["other"]
    whole = head.primitive is P.CONSTANT and head.number > 0 and other.primitive is P.CONSTANT
    if whole and other.number == fold.reduction.identity:
        return int(head.number), found["x"]
    return 0, fold.argument
