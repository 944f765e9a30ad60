"""An access in one integer: who made it, at what time of theirs, how strongly, through which proxy.

Tables of accesses hold these, and compare times without unpacking the rest. A tag is
`time | label | proxy | strength | thread`, from the high bits to the low ones. The label is what
else a table needs: the instruction in shared memory, the cluster in global memory.
"""

from __future__ import annotations

from enum import IntEnum

from kgen.emulate.ptx.types import Array

_STRENGTH, _ASYNC, _LABEL, TIME = 16, 18, 19, 39
#: A thread is numbered within its cluster: `actor * 32 + lane`.
THREAD = (1 << _STRENGTH) - 1
_LABEL_MASK = (1 << (TIME - _LABEL)) - 1
#: The time of what has not ended yet: nobody knows of it.
UNENDED = (1 << (63 - TIME)) - 1


class Strength(IntEnum):
    """How far an operation is strong (PTX ISA 8.5, 8.6): in no scope, or in this one."""

    WEAK = 0
    CTA = 1
    CLUSTER = 2
    GPU = 3


def tag(
    time: Array, label: Array | int, thread: Array, strength: int = 0, asynchronous: bool = False
) -> Array:
    fixed = (int(asynchronous) << _ASYNC) | (strength << _STRENGTH)
    found: Array = (time << TIME) | ((label << _LABEL) | fixed) | thread
    return found


def strength_of(tags: Array) -> Array:
    found: Array = (tags >> _STRENGTH) & 3
    return found


def is_async(tags: Array) -> Array:
    found: Array = (tags >> _ASYNC) & 1 == 1
    return found


def plain(tags: Array) -> Array:
    """Whether accesses are weak, and by threads: no atomics, and no asynchronous operations."""
    found: Array = (tags > 0) & (tags & ((3 << _STRENGTH) | (1 << _ASYNC)) == 0)
    return found


def labels_of(tags: Array) -> Array:
    found: Array = (tags >> _LABEL) & _LABEL_MASK
    return found


def owners_of(tags: Array) -> Array:
    """Label and thread alone, to compare."""
    found: Array = tags & ((_LABEL_MASK << _LABEL) | THREAD)
    return found


def warps_of(owners: Array) -> Array:
    """Label and warp alone."""
    found: Array = owners >> 5
    return found


def label_of(one: int) -> int:
    return (int(one) >> _LABEL) & _LABEL_MASK
