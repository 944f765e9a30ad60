"""Where each buffer of a launch has its part of the tables about global memory."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.lib.array_utils import byte_bounds

from kgen.emulate.llvm.memory.global_memory import Buffer
from kgen.emulate.llvm.types import Array

#: Parts of the tables start at multiples of this.
_ALIGN = 64


def layout(buffers: list[Buffer], written: Collection[int], granule: int) -> tuple[Array, int, int]:
    """(start of each buffer in bytes of the tables or -1, granule, bytes of the tables).

    Arrays that share memory share their part of the tables.
    """
    starts = np.full(len(buffers), -1, np.int64)
    bounds = [byte_bounds(b.data) if b.data.size else (0, 0) for b in buffers]
    size = 0
    groups: list[tuple[int, int, list[int]]] = []
    for index in sorted(range(len(buffers)), key=lambda i: bounds[i]):
        low, high = bounds[index]
        if groups and low < groups[-1][1] and high > low:
            start, end, members = groups.pop()
            groups.append((start, max(end, high), [*members, index]))
        else:
            groups.append((low, high, [index]))
    for low, high, members in groups:
        if not any(index in written for index in members):
            continue
        for index in members:
            starts[index] = size + bounds[index][0] - low
            while starts[index] % granule:
                granule //= 2
        size += -(-(high - low) // _ALIGN) * _ALIGN
    return starts, granule, size
