"""Which lanes of a group an instruction concerns."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.types import Array


def guarded(predicate: Array, mask: Mask) -> tuple[Mask] | None:
    """The lanes of the mask where the predicate holds; None if there is no such lane.

    The mask itself is given back if all its lanes are chosen.
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
    """Lanes of the group that an operation does not concern; None if there are none."""
    if active is None or active is mask:
        return None
    rest = ~active if mask is None else mask & ~active
    return rest if rest.any() else None
