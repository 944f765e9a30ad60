"""Arithmetic interfaces for the definitions of functions, and their implementation for Python
floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

Value = Any


class Mathematics(Protocol):
    """IEEE 754 arithmetic that never raises, on floats or arrays."""

    def div(self, x: Value, y: Value) -> Value: ...
    def exp(self, x: Value) -> Value: ...
    def expm1(self, x: Value) -> Value: ...
    def log(self, x: Value) -> Value: ...
    def log1p(self, x: Value) -> Value: ...
    def sqrt(self, x: Value) -> Value: ...
    def pow(self, x: Value, y: Value) -> Value: ...
    def fmod(self, x: Value, y: Value) -> Value: ...
    def mod(self, x: Value, y: Value) -> Value: ...
    def floor_divide(self, x: Value, y: Value) -> Value: ...
    def bitwise_and(self, x: Value, y: Value) -> Value: ...
    def sin(self, x: Value) -> Value: ...
    def cos(self, x: Value) -> Value: ...
    def atan(self, x: Value) -> Value: ...
    def tanh(self, x: Value) -> Value: ...
    def erf(self, x: Value) -> Value: ...
    def erfc(self, x: Value) -> Value: ...
    def floor(self, x: Value) -> Value: ...
    def round(self, x: Value) -> Value: ...
    def nearest(self, x: Value, bits: int, least: int, largest: float) -> Value: ...
    def isnan(self, x: Value) -> Value: ...
    def where(self, condition: Value, x: Value, y: Value) -> Value: ...


class RowMathematics(Protocol):
    """Arithmetic on rows: functions by name, and reductions to one number per row. Values have
    operators."""

    def __getattr__(self, name: str) -> Callable[..., Value]: ...
    def sum(self, x: Value) -> Value: ...
    def prod(self, x: Value) -> Value: ...
    def largest(self, x: Value) -> Value: ...
    def smallest(self, x: Value) -> Value: ...
    def first(self, x: Value, value: Value) -> Value: ...
    def mean(self, x: Value) -> Value: ...


class Scalars:
    """Arithmetic on Python floats, with IEEE 754 results where the math module raises."""

    atan, tanh, isnan = staticmethod(math.atan), staticmethod(math.tanh), staticmethod(math.isnan)
    erf, erfc = staticmethod(math.erf), staticmethod(math.erfc)

    def div(self, x: float, y: float) -> float:
        if y != 0.0:
            return x / y
        if x == 0.0 or math.isnan(x):
            return math.nan
        return math.copysign(math.inf, x) * math.copysign(1.0, y)

    def exp(self, x: float) -> float:
        return _overflowing(math.exp, x)

    def expm1(self, x: float) -> float:
        return _overflowing(math.expm1, x)

    def log(self, x: float) -> float:
        if x > 0.0 or math.isnan(x):
            return math.log(x)
        return -math.inf if x == 0.0 else math.nan

    def log1p(self, x: float) -> float:
        if x > -1.0 or math.isnan(x):
            return math.log1p(x)
        return -math.inf if x == -1.0 else math.nan

    def sqrt(self, x: float) -> float:
        return math.nan if x < 0.0 else math.sqrt(x)

    def pow(self, x: float, y: float) -> float:
        """Return x**y as defined by IEEE 754, also where math.pow raises. The power of integers
        keeps the last 64 bits; a negative exponent gives 1 / x**-y, truncated towards zero."""
        if isinstance(x, int) and isinstance(y, int):
            if y >= 0:
                return pow(x, y, 2**64)
            return x ** (y % 2) if abs(x) == 1 else 0
        odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
        if x == 0.0 and y < 0.0:
            return math.copysign(math.inf, x) if odd else math.inf
        if math.isfinite(x) and x < 0.0 and math.isfinite(y) and y != int(y):
            return math.nan
        try:
            return float(math.pow(x, y))
        except OverflowError:
            return -math.inf if x < 0.0 and odd else math.inf

    def fmod(self, x: float, y: float) -> float:
        """Return the remainder with the sign of x; 0 for integers and y = 0."""
        if isinstance(y, int):
            return int(math.copysign(1, x)) * (abs(int(x)) % abs(y)) if y else 0
        if math.isinf(x) or y == 0.0:
            return math.nan
        return math.fmod(x, y)

    def mod(self, x: float, y: float) -> float:
        """Return the remainder with the sign of y; 0 for integers and y = 0."""
        if isinstance(y, int):
            return x % y if y else 0
        if math.isinf(x) or y == 0.0:
            return math.nan
        return x % y

    def floor_divide(self, x: float, y: float) -> float:
        """Return the quotient rounded down; 0 for integers and y = 0."""
        if isinstance(y, int):
            return x // y if y else 0
        if y == 0.0 or math.isnan(x) or math.isnan(y):
            return self.div(x, y)
        if math.isinf(x):
            return math.nan
        if math.isinf(y):
            return x // y
        return _nearest_float(Fraction(x) // Fraction(y), self.div(x, y))

    def bitwise_and(self, x: float, y: float) -> float:
        """Return the bitwise AND in two's complement. Floats are rounded down and clamped to -256
        to 255; NaN counts as 0."""
        if isinstance(x, int) and isinstance(y, int):
            return x & y
        limited = (0.0 if math.isnan(v) else max(-256.0, min(v, 255.0)) for v in (x, y))
        a, b = map(math.floor, limited)
        return float(a & b)

    def sin(self, x: float) -> float:
        return math.nan if math.isinf(x) else math.sin(x)

    def cos(self, x: float) -> float:
        return math.nan if math.isinf(x) else math.cos(x)

    def floor(self, x: float) -> float:
        return math.copysign(math.floor(x), x) if math.isfinite(x) else x

    def round(self, x: float) -> float:
        if isinstance(x, int):
            return x
        return math.copysign(round(x), x) if math.isfinite(x) else x

    def nearest(self, x: float, bits: int, least: int, largest: float) -> float:
        """Round to a float format with `bits` mantissa bits and the smallest exponent `least`, ties
        to even. Values beyond `largest` become infinite."""
        if not math.isfinite(x):
            return x
        step = math.ldexp(1.0, max(math.frexp(x)[1] - 1, least) - bits)
        found = round(abs(x) / step) * step
        return math.copysign(found if found <= largest else math.inf, x)

    def where(self, condition: bool, x: float, y: float) -> float:
        return x if condition else y


def _nearest_float(number: int, sign: float) -> float:
    """Return the float nearest to an integer, infinite beyond the range; a zero gets the sign of
    `sign`."""
    try:
        return float(number) if number else math.copysign(0.0, sign)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _overflowing(function: Callable[[float], float], x: float) -> float:
    try:
        return function(x)
    except OverflowError:
        return math.inf
