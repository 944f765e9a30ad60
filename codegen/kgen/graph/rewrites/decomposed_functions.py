"""Graph rewrite: recognise decomposed activation functions (Gelu, Silu, Mish, ...).

A subexpression that depends on its inputs only through one part is a function of that part. The
rewrite evaluates it at sample points and compares the values with the functions of the scalar
language: `x * 0.5 * (1 + erf(x / 1.4142135))` is gelu(x), however it is written. The points include
numbers near zero and far from it, infinities and NaN, so that a clamp, a small addend or a guard is
not lost. A named function has its own accuracy bound and, on some targets, a faster implementation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

from kgen.ops.expression import Expression, Primitive, rebuilt
from kgen.ops.registry import call_of, functions
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.mathematics import Scalars

#: Functions that exporters decompose. Others have an ONNX operator, or lose nothing when
#: decomposed.
NAMES = ("gelu", "gelu_tanh", "silu", "hard_swish", "mish", "softplus", "sigmoid", "rsqrt")
#: Sample points, and the tolerance there relative to the larger of argument and value. The
#: tolerance allows for constants that were rounded to f32. All functions differ at the first point.
POINTS = (1.3, -7.3, -3.1, -2.6, -1.7, -0.9, -0.31, -0.04, 0.02, 0.13, 0.5, 1.0, 2.2, 2.9, 3.4, 6.1)
CLOSE = 4e-7
#: Points where clamps, addends near zero and guards show, and the relative tolerance there: it
#: tells 1 - 2**-23 from 1.
FAR = (
    -1e30, -1e5, -80.0, -40.0, -20.0, -12.0, 0.0, 1e-30, 1e-12,
    12.0, 20.0, 40.0, 80.0, 1e5, 1e30, math.inf, math.nan,
)  # fmt: skip
CLOSE_FAR = 1e-7
#: Largest number of steps of a decomposed function.
MOST_STEPS = 14


def recognised(expression: Expression) -> Expression:
    """Return the expression with every decomposed function replaced by a call of the function."""
    #: Topological number of each step.
    numbers: dict[Expression, int] = {}

    def change(step: Expression) -> Expression:
        numbers.setdefault(step, len(numbers))
        named = _named(step, numbers)
        numbers.setdefault(named, len(numbers))
        return named

    return rebuilt(expression, change)


def _named(whole: Expression, numbers: Mapping[Expression, int]) -> Expression:
    if not _is_scalar(whole) or whole.truth:
        return whole
    for part in _waists(whole, numbers):
        names = [name for name in NAMES if name != whole.name]
        for number, x in enumerate(POINTS):
            # Most expressions differ from all functions at the first point.
            value = _value(whole, part, x)
            names = [name for name in names if _agree(value, _values(name, POINTS)[number], x)]
            if not names:
                break
        for name in names:
            if _agrees_far(name, whole, part):
                return call_of(name, part)
    return whole


def _is_scalar(step: Expression) -> bool:
    """Whether a step is an element-wise function of numbers."""
    return step.primitive is Primitive.CALL and not functions()[step.name].rowwise


def _agree(a: float, b: float, x: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return abs(a - b) <= CLOSE * max(abs(x) if abs(b) < abs(x) else abs(b), 1e-3)


def _agrees_far(name: str, whole: Expression, part: Expression) -> bool:
    known = _values(name, FAR)
    return all(_agree_far(_value(whole, part, x), b, x) for b, x in zip(known, FAR, strict=True))


def _agree_far(a: float, b: float, x: float) -> bool:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if not math.isfinite(a):
        # An intermediate value may overflow where the function does not: log(1 + exp(x)).
        return abs(x) > 1
    if a == 0 and x < 0:
        # 1 + erf(x) and 1 + tanh(x) cancel to 0 in f64.
        return abs(b) < 1e-16 * abs(x)
    # Far below zero, the error of an f32 constant in an exponent grows with the square of x.
    return abs(a - b) < CLOSE_FAR * abs(b) * (1 + x * x if x < 0 else 1)


def _waists(whole: Expression, numbers: Mapping[Expression, int]) -> list[Expression]:
    """Return the parts that all paths from the result to the inputs pass, in path order."""
    inner: list[Expression] = []
    truths = set(_truths(whole))
    front = {a for a in whole.arguments if a.primitive is not Primitive.CONSTANT}
    for _ in range(MOST_STEPS):
        if len(front) == 1:
            inner.append(next(iter(front)))
        last = max(front, key=lambda step: numbers[step], default=None)
        if last is None or not _is_scalar(last):
            break
        front.remove(last)
        front |= {a for a in last.arguments if a.primitive is not Primitive.CONSTANT}
        truths.update(_truths(last))
    return [part for part in inner if part not in truths and _is_within(whole, part)]


def _is_within(whole: Expression, part: Expression) -> bool:
    """Whether there are function calls between an expression and a part of it."""
    return any(a is not part and a.arguments for a in whole.arguments)


def _truths(step: Expression) -> Iterator[Expression]:
    """Yield the arguments that a function takes as truth values.

    An input in that position is not a number, although its type may not say so.
    """
    if step.primitive is Primitive.CALL:
        function = functions()[step.name]
        each = zip(function.parameters, step.arguments, strict=False)
        yield from (argument for parameter, argument in each if parameter in function.truths)


def _value(whole: Expression, part: Expression, x: float) -> float:
    m = Scalars()
    done: dict[Expression, object] = {part: x}

    def value(step: Expression) -> object:
        if step not in done:
            if step.primitive is Primitive.CONSTANT:
                done[step] = step.number
            else:
                done[step] = DEFINITIONS[step.name](m, *map(value, step.arguments))
        return done[step]

    try:
        found = value(whole)
    except (ArithmeticError, ValueError):
        return math.nan
    return float(found)  # type: ignore[arg-type]


@lru_cache
def _values(name: str, points: tuple[float, ...]) -> tuple[float, ...]:
    m = Scalars()
    defaults = functions()[name].defaults
    values = []
    for x in points:
        try:
            values.append(float(DEFINITIONS[name](m, x, *defaults)))
        except (ArithmeticError, ValueError):
            values.append(math.nan)
    return tuple(values)
