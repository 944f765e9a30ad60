"""Partial sums over K that a CTA stores to a workspace, for the reduction of a block tile."""

from __future__ import annotations

import math

from kgen_runtime.values import frozen

#: Sums of one access at most.
VECTOR = 4
WORD_BYTES = 4


@frozen
class PartialAccess:
    """Access to partial sums: `registers` of a thread, `offset` bytes from its first."""

    registers: tuple[str, ...]
    offset: int


@frozen
class PartialSums:
    """`threads` hold `names` each, by register: f32, or integers if they are `whole`. An access has
    neighbours among these; those of all threads lie beside one another."""

    names: tuple[str, ...]
    whole: bool
    threads: int

    @property
    def width(self) -> int:
        """Sums of an access."""
        return math.gcd(VECTOR, len(self.names))

    @property
    def accesses(self) -> tuple[PartialAccess, ...]:
        return tuple(
            PartialAccess(
                registers=self.names[i : i + self.width], offset=i * self.threads * WORD_BYTES
            )
            for i in range(0, len(self.names), self.width)
        )

    @property
    def thread_bytes(self) -> int:
        """From a thread's first sum to its neighbour's."""
        return self.width * WORD_BYTES

    @property
    def nbytes(self) -> int:
        """Of all threads' sums."""
        return len(self.names) * WORD_BYTES * self.threads

    @property
    def addition(self) -> str:
        return "add.s32" if self.whole else "add.f32"
