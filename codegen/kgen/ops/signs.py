"""Sign analysis of expressions, for exponentials of values that are not positive."""

from __future__ import annotations

from functools import lru_cache

from kgen.ops.expand import CACHED
from kgen.ops.expression import Expression, call, constant, rebuilt
from kgen.ops.expression import Primitive as P
from kgen_runtime.dtypes import DType

#: Function 2^(x c) for x <= 0 and a constant c > 0, which has a better form than 2^x in f32.
EXP2_NONPOSITIVE = "exp2_nonpositive"


@lru_cache(CACHED)
def with_nonpositive_exponentials(expression: Expression, compute: DType) -> Expression:
    """Return an expression in primitives that calls EXP2_NONPOSITIVE where possible, in f32."""
    if compute is not DType.F32:
        return expression

    def change(step: Expression) -> Expression:
        if step.primitive is not P.EXP2 or not is_nonpositive(step.arguments[0]):
            return step
        x, factor = step.arguments[0], constant(1.0)
        if x.primitive is P.MUL and x.arguments[1].number > 0.0:
            x, factor = x.arguments
        return call(EXP2_NONPOSITIVE, (x, factor))

    return rebuilt(expression, change)


def is_nonpositive(step: Expression) -> bool:
    """Whether a number is known to be zero or below, unless it is NaN."""
    if step.primitive is P.MUL:
        x, y = step.arguments
        signs = [(is_nonpositive(x), is_nonnegative(y)), (is_nonnegative(x), is_nonpositive(y))]
        return any(map(all, signs))
    if step.primitive is P.SUB:
        x, y = step.arguments
        return y.name in ("max", "maxnum") and y.primitive is P.REDUCE and y.arguments == (x,)
    if step.primitive is P.NEG:
        return is_nonnegative(step.arguments[0])
    return step.primitive is P.CONSTANT and step.number <= 0.0


def is_nonnegative(step: Expression) -> bool:
    """Whether a number is known to be zero or above, unless it is NaN."""
    if step.primitive is P.MUL:
        x, y = step.arguments
        return x is y or (is_nonnegative(x) and is_nonnegative(y))
    if step.primitive is P.NEG:
        return is_nonpositive(step.arguments[0])
    return step.primitive is P.ABS or (step.primitive is P.CONSTANT and step.number >= 0.0)
