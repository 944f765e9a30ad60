"""Indices of an operand whose elements exist under guards, such as a padded convolution's input.

The index of an access is the sum of a part that depends on its row and a part that depends on its
k. Both are linear forms of the digits of a number, and so are the forms of guards. Arithmetic is
modulo 2^32: a part may be negative, and a form below its range becomes a large number.
"""

from __future__ import annotations

from kgen.targets.contraction.access import AccessMap, Axis, Digit, NumberDigit, innermost_first
from kgen_runtime.values import frozen

#: Modulus of 32-bit arithmetic.
MODULUS = 2**32


@frozen
class DigitTerm:
    """Addition of a digit's value times `coefficient` to the sum `before`, with the result `to`.

    `before` and `to` are suffixes of the form's name.
    """

    digit: int
    coefficient: int
    before: str
    to: str


@frozen
class IndexForm:
    """Linear form of digits: `start` plus the sum of the terms."""

    name: str
    start: int
    terms: tuple[DigitTerm, ...]


@frozen
class IndexParts:
    """Digits of a number, innermost first, and the linear forms of these digits.

    The number is that of a row, or of an access along k. The forms are the index, and a value for
    each guard.
    """

    digits: tuple[NumberDigit, ...]
    forms: tuple[IndexForm, ...]


@frozen
class GuardRange:
    """Range of a guard: the sum of its values for row and k is below `end`.

    The conjunction of this condition and `before`, if there is one, is `to`. Both are suffixes of
    the access's name.
    """

    name: str
    end: int
    before: str
    to: str


@frozen
class GuardedIndices:
    """Indices of accesses of `width` elements along k."""

    access: AccessMap
    width: int

    @property
    def row(self) -> IndexParts:
        return self._parts("row", self.access.row, start=self.access.start)

    @property
    def k(self) -> IndexParts:
        *outer, inner = self.access.k
        along = Digit(extent=inner.extent // self.width, stride=inner.stride * self.width)
        return self._parts("k", (*outer, along), start=0)

    def _parts(self, axis: Axis, digits: tuple[Digit, ...], start: int) -> IndexParts:
        forms = [_form("index", start // self.width, [d.stride // self.width for d in digits])]
        for number, guard in enumerate(self.access.guards):
            first = guard.start if axis == "row" else 0
            forms.append(_form(f"guard{number}", first, guard.coefficients(axis)))
        return IndexParts(digits=innermost_first(digits), forms=tuple(forms))

    @property
    def ranges(self) -> tuple[GuardRange, ...]:
        last = len(self.access.guards) - 1
        return tuple(
            GuardRange(
                name=f"guard{number}",
                end=guard.end,
                before=f"_all{number - 1}" if number else "",
                to="_exists" if number == last else f"_all{number}",
            )
            for number, guard in enumerate(self.access.guards)
        )


def _form(name: str, start: int, coefficients: list[int] | tuple[int, ...]) -> IndexForm:
    counted = [(digit, c) for digit, c in enumerate(coefficients) if c]
    last = len(counted) - 1
    terms = (
        DigitTerm(
            digit=digit, coefficient=c, before=f"_sum{i - 1}", to="" if i == last else f"_sum{i}"
        )
        for i, (digit, c) in enumerate(counted)
    )
    return IndexForm(name=name, start=start % MODULUS, terms=tuple(terms))
