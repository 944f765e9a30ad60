"""Expansion of function calls to primitives."""

from __future__ import annotations

from functools import lru_cache

from kgen.errors import Unfit
from kgen.ops.expression import (
    WHOLE,
    Expression,
    Primitive,
    call,
    constant,
    rebuilt,
    select,
    steps,
    variable,
)
from kgen.ops.registry import functions
from kgen.ops.rows import RowFacts
from kgen_runtime.dtypes import DType

#: Most expansions that are cached, as a tile renders one formula for each vector of its results.
CACHED = 1024


def expand(
    expression: Expression,
    native: frozenset[str] = frozenset(),
    row: RowFacts | None = None,
    *,
    compute: DType = DType.F32,
) -> Expression:
    """Return the expression with calls replaced by primitives, except for functions in `native`.

    A renderer has a better form of native functions. A truth value as the result becomes 1 or 0.
    `compute` is the type of the numbers. Row-wise functions need a `row`, and raise Unfit without
    one.
    """

    if row is None:
        return _without_rows(expression, native, compute)
    return _expanded(expression, native, row, compute)


@lru_cache(CACHED)
def _without_rows(expression: Expression, native: frozenset[str], compute: DType) -> Expression:
    return _expanded(expression, native, None, compute)


def _expanded(
    expression: Expression, native: frozenset[str], row: RowFacts | None, compute: DType
) -> Expression:
    def change(step: Expression) -> Expression:
        if step.primitive is not Primitive.CALL or step.name in native:
            return step
        function = functions()[step.name]
        if not function.rowwise:
            return rebuilt(function.expansion(compute)(*step.arguments), change, step.arguments)
        if row is None:
            raise Unfit(step.name, f"{needs_rows(step.name)}: use kgen.Rowwise")
        return rebuilt(function.expand(row, *step.arguments), change, step.arguments)

    result = rebuilt(expression, change)
    return select(result, constant(1.0), constant(0.0)) if result.truth else result


def beyond(expression: Expression, compute: DType, row: RowFacts | None = None) -> str | None:
    """Return the first function or constant that a compute type cannot represent, or None.

    Only integers lack any.
    """
    if not compute.is_integer:
        return None

    def lacks(step: Expression) -> bool:
        return step.primitive not in WHOLE or not step.number.is_integer()

    for step in steps(expression):
        if step.primitive is Primitive.CALL:
            # Arguments are checked separately, except for constants.
            stand_ins = [
                a if a.primitive is Primitive.CONSTANT else _any(a.truth) for a in step.arguments
            ]
            alone = expand(call(step.name, stand_ins, step.truth), row=row, compute=compute)
            if any(map(lacks, steps(alone))):
                return step.name
        elif step.primitive is Primitive.CONSTANT and lacks(step):
            return str(step)
    return None


def _any(truth: bool) -> Expression:
    """Return a placeholder for a function's argument."""
    x = variable("x")
    return x.equals(0.0) if truth else x


def needs_rows(name: str) -> str:
    """Return why an element-wise expression cannot call this row-wise function."""
    is_reduction = functions()[name].reduces
    return f"{name} is a reduction" if is_reduction else f"{name} reads whole rows"


def is_rowwise(expression: Expression) -> bool:
    """Whether an expression in calls calls a row-wise function."""
    calls = (step for step in steps(expression) if step.primitive is Primitive.CALL)
    return any(functions()[call.name].rowwise for call in calls)


def reduces(expression: Expression) -> bool:
    """Whether an expression in calls has one value per row: all of its inputs are reduced."""
    if expression.primitive is Primitive.CALL and functions()[expression.name].reduces:
        return True
    return expression.primitive is not Primitive.INPUT and all(map(reduces, expression.arguments))


def instructions_of(called: Expression) -> int:
    """Return the number of primitives of a call, without those of its arguments."""
    inner = {step for argument in called.arguments for step in steps(expand(argument))}
    return sum(bool(step.arguments) and step not in inner for step in steps(expand(called)))
