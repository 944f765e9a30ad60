"""Masks of rows: one bit per filter position, set if the element exists for a row of an operand.

A convolution pads its input, so an element exists only at some filter positions of a row.
Kernels compute the mask of each row before the main loop. In the loop, one test of the mask with
the position's bit guards an access.
"""

from __future__ import annotations

import itertools
from functools import cached_property

from kgen.targets.contraction.access import AccessMap, Guard
from kgen_runtime.values import frozen

#: Bits of a word of a mask.
WORD_BITS = 32


@frozen
class GuardTest:
    """Condition of a row: 0 <= value + `add` < `end`, where value is the part of guard `guard`'s
    linear form that depends on the row."""

    guard: int
    add: int
    end: int


@frozen
class BitTest:
    """Bit `bit` of word `word` of a line's mask, which is set if all `tests` hold."""

    word: int
    bit: int
    tests: tuple[GuardTest, ...]

    @property
    def value(self) -> int:
        return 1 << self.bit


@frozen
class LineBits:
    """Copy of `source`, a word of a line's mask, to bit `shift` of word `word` of the mask."""

    source: int
    word: int
    shift: int


@frozen
class LineCase:
    """Line of filter positions, which exists if all `tests` hold."""

    tests: tuple[GuardTest, ...]
    bits: tuple[LineBits, ...]


@frozen
class RowMasks:
    """Masks of the rows of an operand.

    Filter positions are the values of the digits of k that guards depend on. A line is the
    positions that differ only in the last of these digits. A word has the bits of whole lines, or a
    line has several words. Words use `word_bits` bits from `first_bit` on.
    """

    access: AccessMap
    first_bit: int = 0
    word_bits: int = WORD_BITS

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.access.guards

    @cached_property
    def digits(self) -> tuple[int, ...]:
        """Numbers of the digits of k that guards depend on, outermost first."""
        return tuple(
            number
            for number in range(len(self.access.k))
            if any(guard.k[number] for guard in self.guards)
        )

    @property
    def line(self) -> int:
        """Number of filter positions of a line."""
        return self.access.k[self.digits[-1]].extent if self.digits else 1

    @property
    def line_words(self) -> int:
        return -(-self.line // self.word_bits)

    @property
    def lines_per_word(self) -> int:
        return max(1, self.word_bits // self.line)

    @property
    def lines(self) -> int:
        found = 1
        for number in self.digits[:-1]:
            found *= self.access.k[number].extent
        return found

    @property
    def words(self) -> int:
        return -(-self.lines // self.lines_per_word) * self.line_words

    @property
    def bit_tests(self) -> tuple[BitTest, ...]:
        """Tests of a line's bits, by the guards that depend on the line's digit."""
        if not self.digits:
            return (BitTest(word=0, bit=0, tests=()),)
        return tuple(
            BitTest(
                word=at // self.word_bits,
                bit=at % self.word_bits,
                tests=tuple(
                    GuardTest(guard=number, add=guard.k[self.digits[-1]] * at, end=guard.end)
                    for number, guard in enumerate(self.guards)
                    if guard.k[self.digits[-1]]
                ),
            )
            for at in range(self.line)
        )

    @property
    def line_cases(self) -> tuple[LineCase, ...]:
        """Tests of whole lines, by all other guards."""
        outer = self.digits[:-1]
        extents = (range(self.access.k[number].extent) for number in outer)
        return tuple(
            LineCase(tests=self._line_tests(dict(zip(outer, values, strict=True))), bits=bits)
            for bits, values in zip(self._line_bits(), itertools.product(*extents), strict=True)
        )

    def _line_tests(self, values: dict[int, int]) -> tuple[GuardTest, ...]:
        inner = self.digits[-1] if self.digits else None
        return tuple(
            GuardTest(
                guard=number,
                add=sum(guard.k[digit] * value for digit, value in values.items()),
                end=guard.end,
            )
            for number, guard in enumerate(self.guards)
            if inner is None or not guard.k[inner]
        )

    def _line_bits(self) -> list[tuple[LineBits, ...]]:
        return [
            tuple(
                LineBits(source=word, word=self._word(line) + word, shift=self._shift(line))
                for word in range(self.line_words)
            )
            for line in range(self.lines)
        ]

    def _word(self, line: int) -> int:
        return line // self.lines_per_word * self.line_words

    def _shift(self, line: int) -> int:
        return self.first_bit + line % self.lines_per_word * self.line

    def bits_of(self, k: int) -> tuple[int, ...]:
        """Return words with only the bit of the filter position of k; all are 0 past the end of
        k."""
        found = [0] * self.words
        if k >= self.access.depth:
            return tuple(found)
        values = self.access.values("k", k)
        line, at = 0, 0
        for number in self.digits[:-1]:
            line = line * self.access.k[number].extent + values[number]
        if self.digits:
            at = values[self.digits[-1]]
        word = self._word(line) + at // self.word_bits
        found[word] = 1 << (self._shift(line) + at % self.word_bits)
        return tuple(found)
