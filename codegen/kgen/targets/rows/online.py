"""Folds that are found together with the maximum or minimum that they are relative to, so that a
row is read once.

Each element of a vector has an extreme and a value that goes with it until the row ends. `moved` is
that value once the extreme is that of more of the row.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.ops.expression import call, node, rebuilt, select, variable
from kgen.ops.patterns import bound
from kgen.ops.rows import COLUMN
from kgen.ops.signs import EXP2_NONPOSITIVE
from kgen.targets.rows.folds_and_phases import RowFold
from kgen_runtime.values import frozen

#: Operands: a value and the extreme that it goes with; the next element.
VALUE, EXTREME, ELEMENT = map(variable, ("value", "extreme", "element"))
#: 2^((x - t) c), as it is or as a function of numbers that are not positive.
_DISTANCE, _C = variable("x") - variable("t"), variable("c")
_EXPONENTIAL, _CALLED = node(P.EXP2, _DISTANCE * _C), call(EXP2_NONPOSITIVE, (_DISTANCE, _C))
#: What the maximum of exponentials is at first: a number, from which -inf is infinitely far, so
#: that a row of nothing else has the sum 0.
LEAST_F32: float = struct.unpack("<f", bytes.fromhex("ffff7fff"))[0]


@frozen
class Online(ABC):
    """Fold and the extreme, of the same phase, that it is relative to."""

    fold: RowFold
    extreme: RowFold

    @property
    @abstractmethod
    def moved(self) -> Expression:
        """VALUE, which goes with EXTREME, moved to the extreme that the fold has."""


@frozen
class Exponentials(Online):
    """A sum of 2^((x - t) c), t the maximum of x or, where that is infinite, another number. It is
    rescaled once for several vectors, when their maximum is known (M. Milakov and N. Gimelshein,
    "Online normalizer calculation for softmax", 2018)."""

    @property
    def moved(self) -> Expression:
        distance = distance_of(self.fold.argument)
        assert distance is not None
        _, top = distance.arguments
        before = _with(top, self.extreme.step, EXTREME)
        return VALUE * _with(self.fold.argument, distance, before - top)


@frozen
class FirstPlace(Online):
    """First column that holds the extreme, or else NaN. It is 0 until another takes its place,
    which is right if all elements equal the extreme's start value."""

    @property
    def _replaces(self) -> Expression:
        """Whether ELEMENT is beyond EXTREME or NaN, and EXTREME is a number."""
        largest = self.extreme.reduction.combine is P.MAX
        within = ELEMENT <= EXTREME if largest else EXTREME <= ELEMENT
        return ~within & EXTREME.equals(EXTREME)

    @property
    def next(self) -> tuple[Expression, Expression]:
        """Extreme and VALUE after an element."""
        return (
            select(self._replaces, ELEMENT, EXTREME),
            select(self._replaces, variable(COLUMN), VALUE),
        )

    @property
    def moved(self) -> Expression:
        return place(EXTREME, self.extreme.step, VALUE, self.fold.argument.arguments[2])


def place(x: Expression, extreme: Expression, column: Expression, none: Expression) -> Expression:
    """Return the column of x where x is the extreme or NaN, and `none` elsewhere."""
    return select(x.equals(extreme) | ~x.equals(x), column, none)


def online_of(fold: RowFold, extreme: RowFold) -> Online:
    kind = FirstPlace if fold.reduction.combine is P.MIN else Exponentials
    return kind(fold=fold, extreme=extreme)


def extreme_of(step: Expression) -> Expression | None:
    """Return the maximum or minimum that a reduction may be found together with, or None."""
    return first_place_of(step) or exponentials_of(step)


def exponentials_of(step: Expression) -> Expression | None:
    """Return the maximum that a sum of exponentials is relative to, or None."""
    if step.primitive is not P.REDUCE or step.name != "sum":
        return None
    if (distance := distance_of(step.arguments[0])) is None:
        return None
    x, top = distance.arguments
    for found in _reductions(top, "maxnum"):
        if found.arguments == (x,):
            finite = select(node(P.ABS, found) < math.inf, found, 0.0)
            return found if top in (found, finite) else None
    return None


def first_place_of(step: Expression) -> Expression | None:
    """Return the maximum or minimum whose first column a reduction finds, or None."""
    if step.primitive is not P.REDUCE or step.name != "min":
        return None
    (argument,) = step.arguments
    for found in _reductions(argument, "max", "min"):
        if argument is place(found.arguments[0], found, variable(COLUMN), argument.arguments[-1]):
            return found
    return None


def distance_of(exponential: Expression) -> Expression | None:
    """Return x - t of 2^((x - t) c), or None."""
    found = bound(_CALLED, exponential)
    if found is None:
        found = bound(_EXPONENTIAL, exponential)
        if found is None or found["c"].primitive is not P.CONSTANT:
            return None
    return found["x"] - found["t"]


def _reductions(within: Expression, *names: str) -> list[Expression]:
    return [s for s in steps(within) if s.primitive is P.REDUCE and s.name in names]


def _with(expression: Expression, old: Expression, new: Expression) -> Expression:
    return rebuilt(expression, lambda step: new if step is old else step)
