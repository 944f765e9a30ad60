"""Comparison of stored values: equal, equal up to rounding, or different.

Lanes that sum the same numbers in different orders store values that differ only by rounding.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.llvm.types import Array, Floating, LlvmType

#: Units in the last place by which values may differ and still count as equal up to rounding. Each
#: step of a butterfly reduction rounds once, and a workgroup has up to 1024 lanes.
_LAST_BITS = {"float": 16, "double": 16, "half": 2, "bfloat": 2}


class Likeness(IntEnum):
    DIFFERENT = 0
    IN_ALL_BUT_LAST_BITS = 1
    SAME = 2


def likeness(one: Array, other: Array, type_: LlvmType | None) -> Array:
    """Return the `Likeness` of raw values: one per element of the broadcast arrays.

    Only floating-point types can be equal up to rounding. ``type_`` None compares bytes.
    """
    mine, theirs = parts(one, np.uint8), parts(other, np.uint8)
    same = (mine == theirs).all(axis=-1)
    element = None if type_ is None else type_.element
    if same.all() or not isinstance(element, Floating):
        return np.where(same, Likeness.SAME, Likeness.DIFFERENT)
    shape = np.broadcast_shapes(mine.shape, theirs.shape)
    a, b = (_bits(np.broadcast_to(raw, shape), element) for raw in (mine, theirs))
    sign = np.int64(1) << (8 * element.size - 1) if element.size < 8 else np.iinfo(np.int64).min
    near = ((a ^ b) & sign == 0) & (np.abs((a & ~sign) - (b & ~sign)) <= _LAST_BITS[element.name])
    near |= (a | b) & ~sign == 0
    alike = np.where(near.all(axis=-1), Likeness.IN_ALL_BUT_LAST_BITS, Likeness.DIFFERENT)
    return np.where(same, Likeness.SAME, alike)


def _bits(raw: Array, element: Floating) -> Array:
    whole = np.ascontiguousarray(raw).view(f"u{element.size}")
    return np.asarray(whole.astype(np.uint64).view(np.int64))
