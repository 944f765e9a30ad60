"""Partial sums over K that workgroups store to a workspace, for the reduction of a block tile."""

from __future__ import annotations

import math

from kgen.spec import DType
from kgen_runtime.manifest import Workspace
from kgen_runtime.values import frozen

#: Most partial sums of one access.
VECTOR = 4
WORD_BYTES = 4
#: Names of the workspaces: partial sums, and counts of the stored ones.
PARTS, ARRIVALS = "parts", "arrivals"


@frozen
class PartialAccess:
    """Access to partial sums: `registers` of a thread, `offset` bytes from its first sum."""

    registers: tuple[str, ...]
    offset: int


@frozen
class PartialSums:
    """Sums of type `dtype` that `threads` threads hold, each in registers of the same `names`.

    One access moves adjacent registers of a thread, and adjacent threads access adjacent memory.
    """

    names: tuple[str, ...]
    dtype: DType
    threads: int

    @property
    def width(self) -> int:
        """Partial sums of one access."""
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
        """Bytes from a thread's first sum to the next thread's."""
        return self.width * WORD_BYTES

    @property
    def nbytes(self) -> int:
        """Bytes of all threads' sums."""
        return len(self.names) * WORD_BYTES * self.threads


def sum_workspaces(
    nbytes: int, counters: int, counted: str = ARRIVALS
) -> tuple[Workspace, Workspace]:
    """Return the workspaces: `nbytes` of partial sums, and `counters`, which start at zero."""
    return (
        Workspace(name=PARTS, nbytes=nbytes),
        Workspace(name=counted, nbytes=counters * WORD_BYTES, initial="zero"),
    )
