"""Masks of the lanes of a group to which an instruction applies."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.types import Array


def guarded(predicate: Array, mask: Mask) -> tuple[Mask] | None:
    """Return the lanes of the mask where the predicate holds; None if there are none.

    If it holds for all lanes of the mask, the mask itself is returned.
    """
    if predicate.size == 1:
        return (mask,) if predicate.item() else None
    chosen = predicate if mask is None else predicate & mask
    count = np.count_nonzero(chosen)
    if count == 0:
        return None
    if mask is None:
        return (None,) if count == chosen.size else (chosen,)
    same = count * mask.size == np.count_nonzero(mask) * chosen.size
    return (mask,) if same else (chosen,)


def remainder(mask: Mask, active: Mask) -> Mask | None:
    """Return the lanes of the group to which an operation does not apply; None if there are
    none."""
    if active is None or active is mask:
        return None
    rest = ~active if mask is None else mask & ~active
    return rest if rest.any() else None
