"""Parser of expressions: text to formulas by output name, and queries about them."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

from kgen_runtime.expressions.definitions import REDUCTIONS

#: Named constants of expressions.
NUMBERS = {"inf": math.inf, "nan": math.nan}
#: Coordinates of an element in a row-wise expression: along the reduced axes, and along the kept
#: axis before them.
COORDINATES = ("column", "row")
#: Largest constant: every float up to it is finite.
MOST_NUMBER = 10**308
#: Characters up to which a text counts as short. Syntax trees need far more memory than their text,
#: so few trees of longer texts are cached.
SHORT = 400
Formulas = Mapping[str, ast.expr]


def formulas_in(text: str) -> Formulas:
    """Return the expression of each output by name; an expression without a name is `out`. Raises
    ValueError for text that is not a list of formulas."""
    return _of_short(text) if len(text) <= SHORT else _of_long(text)


def _formulas_in(text: str) -> Formulas:
    found: dict[str, ast.expr] = {}
    for statement in ast.parse(text).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in found:
                found[name] = value
            case ast.Expr(value=value) if "out" not in found:
                found["out"] = value
            case _:
                raise ValueError(f"not a formula: {ast.unparse(statement):.60}")
    return found


#: Caches of short and of long texts. Their sizes bound the memory that the texts of a bundle need.
_of_short = lru_cache(maxsize=256)(_formulas_in)
_of_long = lru_cache(maxsize=8)(_formulas_in)


def input_names(formulas: Formulas) -> list[str]:
    """Return the names of the inputs in order of first use."""
    beside = {*NUMBERS, *COORDINATES, *formulas}
    found = (name for at in formulas.values() for name in _names(at) if name not in beside)
    return list(dict.fromkeys(found))


def behind(formulas: Formulas, output: str) -> Formulas:
    """Return an output's expression, preceded by the other outputs that it depends on."""
    needed = {output}
    for name, at in reversed(list(formulas.items())):
        if name in needed:
            needed.update(_names(at))
    return {name: at for name, at in formulas.items() if name in needed}


def terms(at: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression and all its subexpressions, in preorder."""
    waiting = [at]
    while waiting:
        term = waiting.pop()
        yield term
        if isinstance(term, ast.Call):
            waiting += reversed(term.args)


def _names(at: ast.expr) -> Iterator[str]:
    return (term.id for term in terms(at) if isinstance(term, ast.Name))


def reduced(formulas: Formulas) -> dict[str, bool]:
    """Return for each output whether it is one number per row: all its subexpressions are
    reduced."""
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
    """Return the value of a constant: a number or a name in `NUMBERS`, with an optional minus
    sign."""
    match at:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -number(operand)
        case ast.Name(id=name) if name in NUMBERS:
            return NUMBERS[name]
        case ast.Constant(value=int() | float() as value) if abs(value) < MOST_NUMBER:
            return float(value)
    raise ValueError(f"neither a number nor a call: {ast.unparse(at):.60}")
