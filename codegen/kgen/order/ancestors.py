"""Ancestors of a step: the steps that run before it by the manifest's `after`, directly or not."""

from __future__ import annotations


class Ancestors:
    """A set of step numbers: all below `full`, and `full` + i for each bit i.

    Most steps of a program wait for nearly all earlier ones, so the bits are few.
    """

    __slots__ = ("bits", "full")

    def __init__(self) -> None:
        self.full = self.bits = 0

    def __contains__(self, step: int) -> bool:
        return step < self.full or self.bits >> (step - self.full) & 1 == 1

    def add(self, step: int, before: Ancestors) -> None:
        """Add a step and its own ancestors."""
        full = max(self.full, before.full)
        bits = self.bits >> (full - self.full) | before.bits >> (full - before.full)
        if step >= full:
            bits |= 1 << (step - full)
        ones = (~bits & (bits + 1)).bit_length() - 1
        self.full, self.bits = full + ones, bits >> ones
