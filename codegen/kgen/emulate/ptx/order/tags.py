"""Tags: an access packed into one integer, for the race-detection tables.

A tag is `time | label | proxy | strength | thread`, from the high bits to the low ones, so that
times can be compared without unpacking. The label depends on the table: the instruction in shared
memory, the cluster in global memory.
"""

from __future__ import annotations

from enum import IntEnum

from kgen.emulate.ptx.types import Array

_STRENGTH, _ASYNC, _LABEL, TIME = 16, 18, 19, 39
#: Mask of the thread, numbered within its cluster: `actor * 32 + lane`.
THREAD = (1 << _STRENGTH) - 1
_LABEL_MASK = (1 << (TIME - _LABEL)) - 1
#: Time of an access that has not ended; no thread knows of it.
UNENDED = (1 << (63 - TIME)) - 1


class Strength(IntEnum):
    """Scope in which an operation is strong (PTX ISA 8.5, 8.6); WEAK for none."""

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
    """Return whether accesses are weak and by threads: neither atomic nor asynchronous."""
    found: Array = (tags > 0) & (tags & ((3 << _STRENGTH) | (1 << _ASYNC)) == 0)
    return found


def labels_of(tags: Array) -> Array:
    found: Array = (tags >> _LABEL) & _LABEL_MASK
    return found


def owners_of(tags: Array) -> Array:
    """Return label and thread only, for comparisons."""
    found: Array = tags & ((_LABEL_MASK << _LABEL) | THREAD)
    return found


def warps_of(owners: Array) -> Array:
    """Return label and warp only."""
    found: Array = owners >> 5
    return found


def label_of(one: int) -> int:
    return (int(one) >> _LABEL) & _LABEL_MASK
