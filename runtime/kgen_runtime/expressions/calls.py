"""Signatures of functions in expressions, and the check of a whole expression.

An expression of a bundle is checked here once, before shapes or elements are computed from it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import FunctionType
from typing import NamedTuple, cast

from kgen_runtime.expressions.definitions import DEFINITIONS, REDUCTIONS, ROWS, Definition
from kgen_runtime.expressions.formulas import COORDINATES, NUMBERS, Formulas, number

#: Bound on the magnitude of an integer.
MOST = 2.0**63


class Kind(Enum):
    """Range of a numeric argument of a view."""

    ANY = "any number"
    WHOLE = "an integer"
    COUNT = "an integer of 0 or more"
    SIZE = "an integer of 1 or more"
    STEP = "an integer other than 0"
    END = "an integer, or inf or -inf for no end"

    def takes(self, value: float) -> bool:
        if self is Kind.ANY:
            return True
        if self is Kind.END and math.isinf(value):
            return True
        if not (-MOST < value < MOST and value == math.floor(value)):
            return False
        least = {Kind.COUNT: 0.0, Kind.SIZE: 1.0}.get(self, -MOST)
        return value >= least and not (self is Kind.STEP and value == 0.0)


class Signature(NamedTuple):
    """Arguments of a function: `least` to `most` subexpressions (None: no upper limit), then one
    number of each kind in `numbers`, then any number of numbers of the kind `more`."""

    least: int
    most: int | None
    numbers: tuple[Kind, ...] = ()
    more: Kind | None = None

    def split(self, count: int) -> int:
        """Return how many of `count` arguments are subexpressions; the others are numbers. Raises
        ValueError if the function does not accept `count` arguments."""
        parts = self.least if self.more is not None else count - len(self.numbers)
        if parts < self.least or (self.most is not None and parts > self.most) or parts > count:
            raise ValueError(f"it has {count} arguments; it takes {self}")
        return parts

    def __str__(self) -> str:
        behind = len(self.numbers)
        if self.more is not None or self.most is None:
            return f"{self.least + behind} or more"
        least, most = self.least + behind, self.most + behind
        return str(least) if least == most else f"{least} to {most}"


#: Views: the subexpressions are tensors, all other arguments are constants.
VIEWS: Mapping[str, Signature] = {
    "permute": Signature(1, 1, more=Kind.WHOLE),
    "transpose": Signature(1, 1),
    "expand": Signature(1, 1, more=Kind.SIZE),
    "slice": Signature(1, 1, (Kind.WHOLE, Kind.END, Kind.END, Kind.STEP)),
    "pad": Signature(1, 1, (Kind.WHOLE, Kind.COUNT, Kind.COUNT, Kind.ANY)),
    "concat": Signature(1, None, (Kind.WHOLE,)),
    "gather": Signature(2, 2, (Kind.WHOLE,)),
    "scatter": Signature(3, 3, (Kind.WHOLE,)),
}


def _signature(definition: Definition) -> Signature:
    """Return the signature of a definition without its first argument, the mathematics."""
    function = cast(FunctionType, definition)
    most = function.__code__.co_argcount - 1
    return Signature(most - len(function.__defaults__ or ()), most)


def _signatures(definitions: Mapping[str, Definition]) -> dict[str, Signature]:
    return {name: _signature(definition) for name, definition in definitions.items()}


#: Functions that expressions may call, by operation. An epilogue has one element at a time, so no
#: views.
EPILOGUE: Mapping[str, Signature] = _signatures(DEFINITIONS)
ELEMENTWISE: Mapping[str, Signature] = {**EPILOGUE, **VIEWS}
ROWWISE: Mapping[str, Signature] = {**ELEMENTWISE, **_signatures(REDUCTIONS), **_signatures(ROWS)}


def check(
    formulas: Formulas, functions: Mapping[str, Signature], coordinates: Iterable[str] = ()
) -> None:
    """Raise ValueError for the first error in the formulas.

    - text that is not a call, constant or name
    - an unknown function
    - a call with arguments that the function does not accept
    - an output that is read before it is assigned
    """
    reserved = {*NUMBERS, *COORDINATES}
    later = set(formulas)
    allowed = set(coordinates)
    for name, at in formulas.items():
        if name in reserved:
            raise ValueError(f"{name} is not a valid output name; it has another meaning")
        _check_part(at, functions, lambda used: used in later or used in reserved - allowed)
        later.discard(name)


def _check_part(
    at: ast.expr, functions: Mapping[str, Signature], is_unknown: Callable[[str], bool]
) -> None:
    if not isinstance(at, ast.Call):
        if not isinstance(at, ast.Name) or at.id in NUMBERS:
            number(at)
        elif is_unknown(at.id):
            raise ValueError(f"{at.id} is read before it has a value")
        return
    if not isinstance(at.func, ast.Name) or at.keywords:
        raise ValueError("a call has a function's name and positional arguments only")
    name = at.func.id
    signature = functions.get(name)
    if signature is None:
        raise ValueError(f"function {name:.60} is not known here; install a newer kgen-kernels")
    try:
        parts = signature.split(len(at.args))
        numbers = list(map(number, at.args[parts:]))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    behind = (*signature.numbers, *[signature.more] * (len(numbers) - len(signature.numbers)))
    for value, kind in zip(numbers, behind, strict=True):
        if kind is not None and not kind.takes(value):
            raise ValueError(f"{name}: {value:g} is not {kind.value}")
    for argument in at.args[:parts]:
        _check_part(argument, functions, is_unknown)
