"""Comparison of stored values: equal, or different only by the order of a summation."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.llvm.types import Array, Floating, LlvmType

#: Units in the last place by which the lanes of a butterfly may differ: each of its steps rounds
#: once, and a workgroup has 1024 lanes.
_LAST_BITS = {"float": 16, "double": 16, "half": 2, "bfloat": 2}


class Likeness(IntEnum):
    DIFFERENT = 0
    IN_ALL_BUT_LAST_BITS = 1
    SAME = 2


def likeness(one: Array, other: Array, type_: LlvmType | None) -> Array:
    """The `Likeness` of raw values of a type, None for mere bytes: one for each of the arrays."""
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
    """The bits of each element, in 64."""
    whole = np.ascontiguousarray(raw).view(f"u{element.size}")
    return np.asarray(whole.astype(np.uint64).view(np.int64))
