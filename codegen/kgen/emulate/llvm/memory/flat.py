"""Flat pointers: one instruction may access global memory, LDS and private memory, by lane.

Source: LLVM "User Guide for AMDGPU Backend", Address Spaces: the flat address space contains one
aperture for local and one for private memory.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.llvm.chunk import Chunk
from kgen.emulate.llvm.types import GLOBAL, LDS, PRIVATE, Array

#: Address at which the aperture of each address space begins.
APERTURES = {GLOBAL: 0, LDS: 1 << 60, PRIVATE: 1 << 61}


def parts(m: Chunk, pointer: Array) -> list[tuple[int, Array, Array]]:
    """Split the active lanes' flat pointers [w, lane] by address space.

    Returns (address space, pointers into it, its lanes) per space; an empty list if all pointers
    are global.
    """
    mask = m.active(pointer.shape)
    highest = int(pointer.max() if mask is None else pointer.max(where=mask, initial=0))
    if highest < APERTURES[LDS]:
        return []
    space = np.where(pointer < APERTURES[LDS], GLOBAL, LDS)
    space = np.where(pointer < APERTURES[PRIVATE], space, PRIVATE)
    present = np.unique(space if mask is None else space[np.broadcast_to(mask, space.shape)])
    return [(int(s), pointer - APERTURES[int(s)], space == s) for s in present]
