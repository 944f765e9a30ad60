"""Formula of attention's scores: what a model does to the product of Q and K before softmax."""

from __future__ import annotations

import dataclasses
import math

from kgen.ops.expression import Expression, Primitive, constant, inputs
from kgen.ops.registry import call_of
from kgen.spec.attention import EmptyRows
from kgen_runtime.values import frozen

#: Name of the product in a formula of scores.
SCORE = "score"
ZERO = constant(0.0)


@frozen
class ScoreFormula:
    """Scores of a product x: `scale x`, or with a cap `cap tanh(scale x / cap)`, plus `added`.
    Where `seen` is false they are `hidden` instead."""

    scale: float = 1.0
    cap: float = 0.0
    added: tuple[Expression, ...] = ()
    seen: Expression | None = None
    hidden: float = -math.inf

    def times(self, factor: float) -> ScoreFormula | None:
        if not math.isfinite(factor) or factor <= 0.0:
            return None
        return dataclasses.replace(
            self,
            scale=self.scale * factor,
            cap=self.cap * factor,
            added=tuple(call_of("mul", term, constant(factor)) for term in self.added),
            hidden=self.hidden * factor,
        )

    def plus(self, term: Expression) -> ScoreFormula | None:
        """Return the scores with an added term.

        Return None if a mask chooses scores already, because attention has one mask.
        """
        if self.seen is not None:
            return None
        return dataclasses.replace(self, added=(*self.added, term))

    def where(self, seen: Expression, hidden: Expression) -> ScoreFormula | None:
        number = hidden.number
        if hidden.primitive is not Primitive.CONSTANT or number != number or number == math.inf:
            return None
        if self.added or (self.seen is not None and self.hidden != number):
            return None
        if self.seen is not None:
            seen = call_of("logical_and", self.seen, seen)
        return dataclasses.replace(self, seen=seen, hidden=number)

    def bent(self) -> ScoreFormula | None:
        if self.added or self.seen is not None or self.cap:
            return None
        return dataclasses.replace(self, cap=1.0)

    @classmethod
    def of(cls, formula: Expression) -> ScoreFormula | None:
        """Return the scores of a product that is called `SCORE`; None for any other formula."""
        if formula.primitive is Primitive.INPUT:
            return cls()
        arguments = formula.arguments
        within = [number for number, a in enumerate(arguments) if SCORE in inputs(a)]
        found = cls.of(arguments[within[0]]) if len(within) == 1 else None
        if found is None:
            return None
        match formula.name, within[0], len(arguments):
            case "cast", 0, 1:
                return found
            case "tanh", 0, 1:
                return found.bent()
            case "mul", at, 2 if arguments[1 - at].primitive is Primitive.CONSTANT:
                return found.times(arguments[1 - at].number)
            case "div", 0, 2 if arguments[1].primitive is Primitive.CONSTANT:
                return found.times(1.0 / arguments[1].number if arguments[1].number else 0.0)
            case "add", at, 2:
                return found.plus(arguments[1 - at])
            case "sub", 0, 2:
                return found.plus(call_of("neg", arguments[1]))
            case "where", 1, 3:
                return found.where(arguments[0], arguments[2])
            case "where", 2, 3:
                return found.where(call_of("logical_not", arguments[0]), arguments[1])
        return None


def softmax_of(formula: Expression) -> tuple[Expression, EmptyRows] | None:
    """Return the scores that a formula is the softmax of, and its value where softmax is NaN."""
    while formula.name == "cast" and len(formula.arguments) == 1:
        (formula,) = formula.arguments
    if formula.name == "softmax":
        return formula.arguments[0], EmptyRows.NAN
    if formula.name != "where":
        return None
    is_nan, *values = formula.arguments
    if is_nan.name == "logical_not":
        (is_nan,) = is_nan.arguments
        values.reverse()
    zero, weights = values
    inner = softmax_of(weights)
    if is_nan.name != "isnan" or is_nan.arguments[0] is not weights or zero is not ZERO:
        return None
    return None if inner is None else (inner[0], EmptyRows.NO_NAN)
