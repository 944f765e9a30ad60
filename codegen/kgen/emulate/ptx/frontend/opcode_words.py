"""Words of an opcode: modifiers and types (PTX ISA 9.3)."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.emulate.ptx.types import TYPES, PtxType


class Unsupported(Exception):
    """Instruction, modifier or operand that the emulator does not support."""


def require(condition: object) -> None:
    """Raise Unsupported unless a condition of the emulator holds."""
    if not condition:
        raise Unsupported


class OpcodeWords:
    """Words of an opcode after the first. An instruction with a word that is never read is
    refused."""

    def __init__(self, words: Sequence[str]) -> None:
        self._left = list(words)

    @property
    def last(self) -> str:
        return self._left[-1] if self._left else ""

    def has(self, word: str) -> bool:
        """Return whether a modifier is present, without removing it."""
        return word in self._left

    def flag(self, word: str) -> bool:
        """Remove a modifier; return whether it was present."""
        return self.choice(word) is not None

    def choice(self, *words: str) -> str | None:
        """Remove and return the first modifier that is one of these; None if there is none."""
        for word in self._left:
            if word in words:
                self._left.remove(word)
                return word
        return None

    def one_of(self, *words: str) -> str:
        """Remove and return the first modifier that is one of these; it is required."""
        if (found := self.choice(*words)) is None:
            raise Unsupported
        return found

    def drop(self, words: frozenset[str]) -> None:
        """Remove all of these modifiers, which have no effect in the emulator."""
        self._left = [word for word in self._left if word not in words]

    def type(self) -> PtxType:
        """Remove and return the last word, which must be a type."""
        require(self._left and self._left[-1] in TYPES)
        return TYPES[self._left.pop()]

    def only_type(self) -> PtxType:
        """Remove and return the last word, a type, after which no modifier may remain."""
        found = self.type()
        self.finish()
        return found

    def ending(self, *words: str) -> str:
        """Remove and return the last word, which must be one of these."""
        require(self.last in words)
        return self._left.pop()

    def finish(self) -> None:
        """Raise Unsupported if a modifier remains."""
        require(not self._left)
