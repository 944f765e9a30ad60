"""What the functions of expressions are, mathematically: one line each.

Nothing here is shared with the expansions that kernels are made of. A definition takes the
mathematics to compute with, `m`: :class:`Scalars` for plain Python floats, or anything that has the
same names for arrays. Truth values are what comparisons give. A row-wise function's definition
takes the mathematics of rows instead, whose values are whole rows or one number for each.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

Value = Any


class Mathematics(Protocol):
    """IEEE 754 arithmetic that raises nothing, on floats or arrays."""

    def div(self, x: Value, y: Value) -> Value: ...
    def exp(self, x: Value) -> Value: ...
    def expm1(self, x: Value) -> Value: ...
    def log(self, x: Value) -> Value: ...
    def log1p(self, x: Value) -> Value: ...
    def sqrt(self, x: Value) -> Value: ...
    def pow(self, x: Value, y: Value) -> Value: ...
    def mod(self, x: Value, y: Value) -> Value: ...
    def floor_divide(self, x: Value, y: Value) -> Value: ...
    def sin(self, x: Value) -> Value: ...
    def cos(self, x: Value) -> Value: ...
    def tanh(self, x: Value) -> Value: ...
    def erf(self, x: Value) -> Value: ...
    def erfc(self, x: Value) -> Value: ...
    def floor(self, x: Value) -> Value: ...
    def round(self, x: Value) -> Value: ...
    def nearest(self, x: Value, bits: int, least: int, largest: float) -> Value: ...
    def isnan(self, x: Value) -> Value: ...
    def where(self, condition: Value, x: Value, y: Value) -> Value: ...


Definition = Callable[..., Value]


def minimum(m: Mathematics, x: Value, y: Value) -> Value:
    return m.where(m.isnan(x), x, m.where(m.isnan(y), y, m.where(x < y, x, y)))


def maximum(m: Mathematics, x: Value, y: Value) -> Value:
    return m.where(m.isnan(x), x, m.where(m.isnan(y), y, m.where(x > y, x, y)))


def whole(m: Mathematics, x: Value, least: Value, largest: Value) -> Value:
    """The nearest whole number from the least to the largest, ties to even; of NaN 0. There is no
    -0."""
    near = minimum(m, maximum(m, m.round(x), least), largest)
    return m.where(m.isnan(x) | (near == 0.0), 0.0, near)


def single(m: Mathematics, x: Value) -> Value:
    """The nearest f32."""
    return m.nearest(x, 23, -126, (2.0 - 2.0**-23) * 2.0**127)


def sigmoid(m: Mathematics, x: Value) -> Value:
    small = m.exp(m.where(x < 0.0, x, -x))
    return m.where(x < 0.0, small, 1.0) / (1.0 + small)


def softplus(m: Mathematics, x: Value) -> Value:
    return maximum(m, x, 0.0) + m.log1p(m.exp(m.where(x < 0.0, x, -x)))


def elu(m: Mathematics, x: Value, alpha: Value = 1.0) -> Value:
    return m.where(x > 0.0, x, alpha * m.expm1(m.where(x > 0.0, 0.0, x)))


SQRT_2 = math.sqrt(2.0)
SQRT_2_PI = math.sqrt(2.0 / math.pi)
LN_2 = math.log(2.0)
#: Klambauer et al., "Self-Normalizing Neural Networks", equation 14.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

#: Every function by name; the arguments are those of the expression, defaults put in. A step of an
#: epilogue has its defaults from here.
DEFINITIONS: dict[str, Definition] = {
    "neg": lambda m, x: -x,
    "abs": lambda m, x: abs(x),
    "sign": lambda m, x: m.where(x > 0.0, 1.0, m.where(x < 0.0, -1.0, x)),
    "min": minimum,
    "max": maximum,
    "clip": lambda m, x, low, high: minimum(m, maximum(m, x, low), high),
    "floor": lambda m, x: m.floor(x),
    "ceil": lambda m, x: -m.floor(-x),
    "round": lambda m, x: m.round(x),
    "trunc": lambda m, x: m.where(x < 0.0, -m.floor(-x), m.floor(x)),
    "less": lambda m, x, y: x < y,
    "less_equal": lambda m, x, y: x <= y,
    "greater": lambda m, x, y: x > y,
    "greater_equal": lambda m, x, y: x >= y,
    "equal": lambda m, x, y: x == y,
    "not_equal": lambda m, x, y: x != y,
    "logical_and": lambda m, x, y: x & y,
    "logical_or": lambda m, x, y: x | y,
    "logical_xor": lambda m, x, y: x ^ y,
    "logical_not": lambda m, x: x ^ True,
    "isnan": lambda m, x: m.isnan(x),
    "isinf": lambda m, x: abs(x) == math.inf,
    "where": lambda m, condition, x, y: m.where(condition, x, y),
    "add": lambda m, x, y: x + y,
    "sub": lambda m, x, y: x - y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: m.div(x, y),
    "mod": lambda m, x, y: m.mod(x, y),
    "floor_divide": lambda m, x, y: m.floor_divide(x, y),
    "cast": lambda m, x: x,
    "cast_f64": lambda m, x: x,
    "cast_f32": single,
    "cast_f16": lambda m, x: m.nearest(single(m, x), 10, -14, 65504.0),
    "cast_bf16": lambda m, x: m.nearest(single(m, x), 7, -126, (2.0 - 2.0**-7) * 2.0**127),
    "cast_s64": lambda m, x: whole(m, x, -(2**63), 2**63 - 1),
    "cast_s32": lambda m, x: whole(m, x, -(2**31), 2**31 - 1),
    "cast_s8": lambda m, x: whole(m, x, -128.0, 127.0),
    "cast_u8": lambda m, x: whole(m, x, 0.0, 255.0),
    "cast_bool": lambda m, x: m.where(x == 0.0, 0.0, 1.0),
    "pow": lambda m, x, y: m.pow(x, y),
    "square": lambda m, x: x * x,
    "sqrt": lambda m, x: m.sqrt(x),
    "rsqrt": lambda m, x: m.div(1.0, m.sqrt(x)),
    "reciprocal": lambda m, x: m.div(1.0, x),
    "exp": lambda m, x: m.exp(x),
    "exp2": lambda m, x: m.exp(x * LN_2),
    "expm1": lambda m, x: m.expm1(x),
    "log": lambda m, x: m.log(x),
    "log2": lambda m, x: m.log(x) / LN_2,
    "log1p": lambda m, x: m.log1p(x),
    "tanh": lambda m, x: m.tanh(x),
    "sigmoid": sigmoid,
    "relu": lambda m, x: m.where(x <= 0.0, 0.0, x),
    "leaky_relu": lambda m, x, slope=0.01: m.where(x < 0.0, slope * x, x),
    "elu": elu,
    "selu": lambda m, x: SELU_SCALE * elu(m, x, SELU_ALPHA),
    "celu": lambda m, x, alpha=1.0: m.where(x > 0.0, x, alpha * m.expm1(m.div(x, alpha))),
    "gelu": lambda m, x: 0.5 * x * m.erfc(-x / SQRT_2),
    "gelu_tanh": lambda m, x: x * sigmoid(m, 2.0 * SQRT_2_PI * (x + 0.044715 * x * x * x)),
    "silu": lambda m, x: x * sigmoid(m, x),
    "mish": lambda m, x: x * m.tanh(softplus(m, x)),
    "hard_sigmoid": lambda m, x, a=1 / 6, b=0.5: minimum(m, maximum(m, a * x + b, 0.0), 1.0),
    "hard_swish": lambda m, x: x * minimum(m, maximum(m, x + 3.0, 0.0), 6.0) / 6.0,
    "softplus": softplus,
    "softsign": lambda m, x: m.div(x, 1.0 + abs(x)),
    "erf": lambda m, x: m.erf(x),
    "sin": lambda m, x: m.sin(x),
    "cos": lambda m, x: m.cos(x),
}


class RowMathematics(Protocol):
    """Arithmetic, functions by name, and what makes one number of a row. Values have operators."""

    def __getattr__(self, name: str) -> Callable[..., Value]: ...
    def sum(self, x: Value) -> Value: ...
    def prod(self, x: Value) -> Value: ...
    def largest(self, x: Value) -> Value: ...
    def smallest(self, x: Value) -> Value: ...
    def first(self, x: Value, value: Value) -> Value: ...
    def mean(self, x: Value) -> Value: ...


def variance(m: RowMathematics, x: Value) -> Value:
    return m.mean(m.square(x - m.mean(x)))


def logsumexp(m: RowMathematics, x: Value) -> Value:
    """An infinite maximum, from which no distance is a number, is the result itself."""
    top = m.largest(x)
    top = m.where(m.less(m.abs(top), math.inf), top, 0.0)
    return top + m.log(m.sum(m.exp(x - top)))


def softmax(m: RowMathematics, x: Value) -> Value:
    exponentials = m.exp(x - m.largest(x))
    return exponentials / m.sum(exponentials)


def layer_norm(m: RowMathematics, x: Value, scale: Value, shift: Value, epsilon: Value) -> Value:
    return (x - m.mean(x)) * m.rsqrt(variance(m, x) + epsilon) * scale + shift


#: Every function that makes one number of a row.
REDUCTIONS: dict[str, Definition] = {
    "sum": lambda m, x: m.sum(x),
    "mean": lambda m, x: m.mean(x),
    "amax": lambda m, x: m.largest(x),
    "amin": lambda m, x: m.smallest(x),
    "prod": lambda m, x: m.prod(x),
    "l1": lambda m, x: m.sum(m.abs(x)),
    "l2": lambda m, x: m.sqrt(m.sum(m.square(x))),
    "logsumexp": logsumexp,
    "var": variance,
    "argmax": lambda m, x: m.first(x, m.largest(x)),
    "argmin": lambda m, x: m.first(x, m.smallest(x)),
}

#: Every other function of whole rows.
ROWS: dict[str, Definition] = {
    "softmax": softmax,
    "log_softmax": lambda m, x: x - m.largest(x) - m.log(m.sum(m.exp(x - m.largest(x)))),
    "layer_norm": layer_norm,
    "rms_norm": lambda m, x, s, epsilon: x * m.rsqrt(m.mean(m.square(x)) + epsilon) * s,
}


class Scalars:
    """The mathematics of Python floats, with IEEE 754's results where the math module raises."""

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
        """math.pow has IEEE 754's special values, and raises where it divides by zero."""
        odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
        if x == 0.0 and y < 0.0:
            return math.copysign(math.inf, x) if odd else math.inf
        if math.isfinite(x) and x < 0.0 and math.isfinite(y) and y != int(y):
            return math.nan
        try:
            return float(math.pow(x, y))
        except OverflowError:
            return -math.inf if x < 0.0 and odd else math.inf

    def mod(self, x: float, y: float) -> float:
        """With the sign of y; of integers by zero it is 0."""
        if isinstance(y, int):
            return x % y if y else 0
        if not math.isfinite(x) or not math.isfinite(y) or y == 0.0:
            return math.nan
        return x % y

    def floor_divide(self, x: float, y: float) -> float:
        """The quotient rounded down; of integers by zero it is 0."""
        if isinstance(y, int):
            return x // y if y else 0
        return self.floor(self.div(x, y))

    def sin(self, x: float) -> float:
        return math.nan if math.isinf(x) else math.sin(x)

    def cos(self, x: float) -> float:
        return math.nan if math.isinf(x) else math.cos(x)

    def tanh(self, x: float) -> float:
        return math.tanh(x)

    def erf(self, x: float) -> float:
        return math.erf(x)

    def erfc(self, x: float) -> float:
        return math.erfc(x)

    def floor(self, x: float) -> float:
        return math.copysign(math.floor(x), x) if math.isfinite(x) else x

    def round(self, x: float) -> float:
        if isinstance(x, int):
            return x
        return math.copysign(round(x), x) if math.isfinite(x) else x

    def nearest(self, x: float, bits: int, least: int, largest: float) -> float:
        """The float nearest to x that has so many mantissa bits and a least exponent, ties to even;
        infinity beyond the largest."""
        if not math.isfinite(x):
            return x
        step = math.ldexp(1.0, max(math.frexp(x)[1] - 1, least) - bits)
        found = round(abs(x) / step) * step
        return math.copysign(found if found <= largest else math.inf, x)

    def isnan(self, x: float) -> bool:
        return math.isnan(x)

    def where(self, condition: bool, x: float, y: float) -> float:
        return x if condition else y


def _overflowing(function: Callable[[float], float], x: float) -> float:
    try:
        return function(x)
    except OverflowError:
        return math.inf


#: Numbers that an expression names.
NUMBERS = {"inf": math.inf, "nan": math.nan}
#: An element's place in a row-wise expression: along the reduced axes, and along the one before.
COORDINATES = ("column", "row")


Formulas = Mapping[str, ast.expr]


@lru_cache(maxsize=256)
def formulas(text: str) -> Formulas:
    """The outputs' expressions by name; one without a name is `out`. ValueError for other text."""
    found: dict[str, ast.expr] = {}
    for statement in ast.parse(text).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in found:
                found[name] = value
            case ast.Expr(value=value) if "out" not in found:
                found["out"] = value
            case _:
                raise ValueError(f"no formula: {ast.unparse(statement):.60}")
    return found


def input_names(formulas: Formulas) -> list[str]:
    """Names of the inputs, in the order in which the expressions have them."""
    beside = {*NUMBERS, *COORDINATES, *formulas}
    found = (name for at in formulas.values() for name in _names(at) if name not in beside)
    return list(dict.fromkeys(found))


def behind(formulas: Formulas, output: str) -> Formulas:
    """An output's expression, after those of other outputs that it is made of."""
    needed = {output}
    for name, at in reversed(list(formulas.items())):
        if name in needed:
            needed.update(_names(at))
    return {name: at for name, at in formulas.items() if name in needed}


def _names(at: ast.expr) -> Iterator[str]:
    match at:
        case ast.Name(id=name):
            yield name
        case ast.Call(args=arguments):
            for argument in arguments:
                yield from _names(argument)


def reduced(formulas: Formulas) -> dict[str, bool]:
    """Whether each output is one number for a row: everything that it is made of is reduced."""
    found: dict[str, bool] = {}
    for name, at in formulas.items():
        found[name] = _reduces(at, found)
    return found


def _reduces(at: ast.expr, known: Mapping[str, bool]) -> bool:
    match at:
        case ast.Name(id=name):
            return name in NUMBERS or known.get(name, False)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return name in REDUCTIONS or all(_reduces(argument, known) for argument in arguments)
    return True


def number(at: ast.expr) -> float:
    """A constant as an expression in calls has it: with a sign before it, perhaps by name."""
    match at:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -number(operand)
        case ast.Name(id=name):
            return NUMBERS[name]
        case ast.Constant(value=int() | float() as value):
            return float(value)
    raise ValueError(f"no expression in calls: {ast.unparse(at)}")


class Evaluator:
    """Walks an expression; extend :meth:`apply` to see every call."""

    def __init__(self, values: Mapping[str, Value], m: Mathematics) -> None:
        self.values, self.m = values, m

    def outputs(self, formulas: Formulas) -> Mapping[str, Value]:
        """Every output's value. A later one takes an earlier one's as it is computed."""
        for name, at in formulas.items():
            self.values = {**self.values, name: self.value(at)}
        return {name: self.values[name] for name in formulas}

    def value(self, at: ast.expr) -> Value:
        match at:
            case ast.Name(id=name) if name not in NUMBERS:
                return self.values[name]
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.apply(name, [self.value(argument) for argument in arguments])
        return number(at)

    def apply(self, name: str, arguments: list[Value]) -> Value:
        return DEFINITIONS[name](self.m, *arguments)


class Integers(Evaluator):
    """Walks an expression of whole numbers of so many bits: what overflows wraps around."""

    def __init__(self, values: Mapping[str, Value], m: Mathematics, bits: int) -> None:
        super().__init__(values, m)
        self.bits = bits

    def value(self, at: ast.expr) -> Value:
        found = super().value(at)
        return int(found) if isinstance(found, float) else found

    def apply(self, name: str, arguments: list[Value]) -> Value:
        return self.wrapped(super().apply(name, arguments))

    def wrapped(self, x: Value) -> Value:
        half = 1 << (self.bits - 1)
        return x if isinstance(x, bool) else (int(x) + half) % (2 * half) - half


class Operand:
    """A value of a row-wise evaluation, for definitions to do arithmetic with."""

    def __init__(self, rows: Rows, value: Value) -> None:
        self.rows, self.value = rows, value

    def __add__(self, other: Value) -> Operand:
        return self.rows.call("add", self, other)

    def __sub__(self, other: Value) -> Operand:
        return self.rows.call("sub", self, other)

    def __mul__(self, other: Value) -> Operand:
        return self.rows.call("mul", self, other)

    def __truediv__(self, other: Value) -> Operand:
        return self.rows.call("div", self, other)


class Rows(Evaluator):
    """Walks a row-wise expression of rows of `count` columns; it is their mathematics too.

    A value is whatever :meth:`each` and :meth:`fold` take, for a whole row or for one number.
    """

    count: int

    def each(self, name: str, arguments: list[Value]) -> Value:
        """A function, element by element."""
        raise NotImplementedError

    def fold(self, name: str, x: Value) -> Value:
        """A row's `sum`, `prod`, `largest` or `smallest`; a NaN among them is all of these."""
        raise NotImplementedError

    def find(self, x: Value, value: Value) -> Value:
        """The number of the first column that holds `value`, or NaN if that is what it is."""
        raise NotImplementedError

    def constant(self, value: float) -> Value:
        """A definition's own number as a value."""
        return value

    def apply(self, name: str, arguments: list[Value]) -> Value:
        definition = REDUCTIONS.get(name) or ROWS.get(name)
        if definition is None:
            return self.each(name, arguments)
        return definition(self, *(Operand(self, argument) for argument in arguments)).value

    def call(self, name: str, *arguments: Value) -> Operand:
        values = [a.value if isinstance(a, Operand) else self.constant(a) for a in arguments]
        return Operand(self, self.each(name, values))

    def __getattr__(self, name: str) -> Callable[..., Operand]:
        if name not in DEFINITIONS:
            raise AttributeError(name)
        return lambda *arguments: self.call(name, *arguments)

    def sum(self, x: Operand) -> Operand:
        return Operand(self, self.fold("sum", x.value))

    def prod(self, x: Operand) -> Operand:
        return Operand(self, self.fold("prod", x.value))

    def largest(self, x: Operand) -> Operand:
        return Operand(self, self.fold("largest", x.value))

    def smallest(self, x: Operand) -> Operand:
        return Operand(self, self.fold("smallest", x.value))

    def mean(self, x: Operand) -> Operand:
        return self.sum(x) / self.count

    def first(self, x: Operand, value: Operand) -> Operand:
        return Operand(self, self.find(x.value, value.value))
