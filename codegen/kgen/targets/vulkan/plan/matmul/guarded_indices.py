"""Indices of an operand whose elements exist under guards, such as a padded convolution's input.

The index of an access is the sum of a part of its row and a part of its k, each made of the digits
of a number; so are the forms that guards hold against a range. Arithmetic is modulo 2^32: a part
may begin before the buffer, and a form below its range is large.
"""

from __future__ import annotations

from kgen.targets.contraction.access import AccessMap, Axis, Digit
from kgen_runtime.values import frozen

#: Numbers of 32 bits.
MODULUS = 2**32


@frozen
class DigitTerm:
    """Summand: a digit's value times `coefficient`. With it, the sum `before` becomes `to`; names
    are suffixes to the form's."""

    digit: int
    coefficient: int
    before: str
    to: str


@frozen
class IndexForm:
    """Linear form of digits: `start` and the sum of the terms."""

    name: str
    start: int
    terms: tuple[DigitTerm, ...]


@frozen
class NumberDigit:
    """Digit of a number; the outermost one is the quotient by all others."""

    number: int
    extent: int
    is_outermost: bool


@frozen
class IndexParts:
    """Digits of a number of rows or of accesses along k, innermost first, and the forms of them
    that a kernel needs: the index, and a value for each guard."""

    digits: tuple[NumberDigit, ...]
    forms: tuple[IndexForm, ...]


@frozen
class GuardRange:
    """Range of a guard: the sum of its values of row and k is below `end`. With it, the condition
    `before`, if there is one, becomes `to`; names are suffixes to the access's."""

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
        last = len(digits) - 1
        return IndexParts(
            digits=tuple(
                NumberDigit(number=last - i, extent=digits[last - i].extent, is_outermost=i == last)
                for i in range(len(digits))
            ),
            forms=tuple(forms),
        )

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
            digit=digit,
            coefficient=c,
            before=f"_sum{i - 1}",
            to="" if i == last else f"_sum{i}",
        )
        for i, (digit, c) in enumerate(counted)
    )
    return IndexForm(name=name, start=start % MODULUS, terms=tuple(terms))
