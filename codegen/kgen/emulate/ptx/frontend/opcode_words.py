"""The words of an opcode: modifiers and types (PTX ISA 9.3)."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.emulate.ptx.types import TYPES, PtxType


class Unsupported(Exception):
    """The instruction, or one of its modifiers or operands, is not known."""


class OpcodeWords:
    """Words after an opcode's first; an instruction is refused if one of them is never read."""

    def __init__(self, words: Sequence[str]) -> None:
        self._left = list(words)

    @property
    def last(self) -> str:
        """The last word that is left."""
        return self._left[-1] if self._left else ""

    def has(self, word: str) -> bool:
        """Whether a modifier is there; it is left."""
        return word in self._left

    def flag(self, word: str) -> bool:
        """Whether a modifier is there; it is taken."""
        return self.choice(word) is not None

    def choice(self, *words: str) -> str | None:
        """The first modifier left that is one of these, taken; None if there is none."""
        for word in self._left:
            if word in words:
                self._left.remove(word)
                return word
        return None

    def drop(self, words: frozenset[str]) -> None:
        """Take all of these; they change nothing here."""
        self._left = [word for word in self._left if word not in words]

    def type(self) -> PtxType:
        """The last word, which must be a type."""
        if not self._left or self._left[-1] not in TYPES:
            raise Unsupported
        return TYPES[self._left.pop()]

    def ending(self, *words: str) -> str:
        """The last word, which must be one of these; it is taken."""
        if self.last not in words:
            raise Unsupported
        return self._left.pop()

    def finish(self) -> None:
        """Raise Unsupported if a modifier was not understood."""
        if self._left:
            raise Unsupported
