"""Evaluators of expressions by the definitions of their functions: floats, integers, rows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter

from kgen_runtime.expressions.definitions import DEFINITIONS, REDUCTIONS, ROWS
from kgen_runtime.expressions.formulas import NUMBERS, Formulas, number
from kgen_runtime.expressions.mathematics import Mathematics, Value


class Evaluator:
    """Evaluator of an expression; a subclass that overrides :meth:`apply` sees every call."""

    def __init__(self, values: Mapping[str, Value], m: Mathematics) -> None:
        self.values, self.m = values, m

    def outputs(self, formulas: Formulas) -> Mapping[str, Value]:
        """Return the value of every output. Later outputs may use earlier ones, without rounding
        between."""
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

    def compiled(self, at: ast.expr, names: Sequence[str]) -> Callable[[Sequence[Value]], Value]:
        """Return a function that computes an expression from the values of `names`, for many
        evaluations."""
        match at:
            case ast.Name(id=name) if name not in NUMBERS:
                return itemgetter(names.index(name))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                function = self.function(name)
                parts = [self.compiled(argument, names) for argument in arguments]
                return lambda values: function(*[part(values) for part in parts])
        constant = self.value(at)
        return lambda values: constant

    def apply(self, name: str, arguments: list[Value]) -> Value:
        return self.function(name)(*arguments)

    def function(self, name: str) -> Callable[..., Value]:
        """Return the function that computes a call, for callers with many calls."""
        return partial(DEFINITIONS[name], self.m)


class Integers(Evaluator):
    """Evaluator of integer expressions with a fixed number of bits: overflow wraps around."""

    def __init__(self, values: Mapping[str, Value], m: Mathematics, bits: int) -> None:
        super().__init__(values, m)
        self.bits = bits

    def value(self, at: ast.expr) -> Value:
        found = super().value(at)
        return int(found) if isinstance(found, float) else found

    def function(self, name: str) -> Callable[..., Value]:
        exact = super().function(name)
        return lambda *arguments: self.wrapped(exact(*arguments))

    def wrapped(self, x: Value) -> Value:
        half = 1 << (self.bits - 1)
        return x if isinstance(x, bool) else (int(x) + half) % (2 * half) - half


class RowOperand:
    """Operand with arithmetic operators, for definitions of row-wise functions."""

    def __init__(self, rows: RowEvaluator, value: Value) -> None:
        self.rows, self.value = rows, value

    def __add__(self, other: Value) -> RowOperand:
        return self.rows.call("add", self, other)

    def __sub__(self, other: Value) -> RowOperand:
        return self.rows.call("sub", self, other)

    def __mul__(self, other: Value) -> RowOperand:
        return self.rows.call("mul", self, other)

    def __truediv__(self, other: Value) -> RowOperand:
        return self.rows.call("div", self, other)


class RowEvaluator(Evaluator):
    """Evaluator of a row-wise expression on rows of `count` columns.

    A value is whatever :meth:`each` and :meth:`fold` accept, for a whole row or for one number.
    """

    count: int

    def each(self, name: str, arguments: list[Value]) -> Value:
        """Apply a function element by element."""
        raise NotImplementedError

    def fold(self, name: str, x: Value) -> Value:
        """Reduce a row by `sum`, `prod`, `largest` or `smallest`; the result is NaN if the row has
        a NaN."""
        raise NotImplementedError

    def find(self, x: Value, value: Value) -> Value:
        """Return the index of the first column that equals `value` or is NaN."""
        raise NotImplementedError

    def constant(self, value: float) -> Value:
        """Convert a constant of a definition to a value."""
        return value

    def apply(self, name: str, arguments: list[Value]) -> Value:
        definition = REDUCTIONS.get(name) or ROWS.get(name)
        if definition is None:
            return self.each(name, arguments)
        return definition(self, *(RowOperand(self, argument) for argument in arguments)).value

    def call(self, name: str, *arguments: Value) -> RowOperand:
        values = [a.value if isinstance(a, RowOperand) else self.constant(a) for a in arguments]
        return RowOperand(self, self.each(name, values))

    def __getattr__(self, name: str) -> Callable[..., RowOperand]:
        if name not in DEFINITIONS:
            raise AttributeError(name)
        return lambda *arguments: self.call(name, *arguments)

    def sum(self, x: RowOperand) -> RowOperand:
        return RowOperand(self, self.fold("sum", x.value))

    def prod(self, x: RowOperand) -> RowOperand:
        return RowOperand(self, self.fold("prod", x.value))

    def largest(self, x: RowOperand) -> RowOperand:
        return RowOperand(self, self.fold("largest", x.value))

    def smallest(self, x: RowOperand) -> RowOperand:
        return RowOperand(self, self.fold("smallest", x.value))

    def mean(self, x: RowOperand) -> RowOperand:
        return self.sum(x) / self.count

    def first(self, x: RowOperand, value: RowOperand) -> RowOperand:
        return RowOperand(self, self.find(x.value, value.value))
