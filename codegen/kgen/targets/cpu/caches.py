"""Cache levels of a CPU target: which level holds a working set, by the target's sizes alone.

Sizes are numbers or arrays of numpy, one for each candidate of a space.
"""

from __future__ import annotations

import numpy as np

from kgen.targets.base import Target
from kgen.targets.contraction.candidate_table import Column
from kgen_runtime.values import frozen

#: Bytes of a way of the first- and second-level cache: lines a multiple of these apart share a set.
WAY_BYTES = (4096, 1 << 17)
#: Part of a cache that counts as available to the operands of a loop.
SHARE = 0.8


@frozen
class Caches:
    target: Target

    @property
    def l1(self) -> float:
        """Bytes that count as available in the first level."""
        return SHARE * self.target.limits["l1_bytes"]

    @property
    def l2(self) -> float:
        return SHARE * self.target.limits["l2_bytes"]

    def level(self, near: Column | float, far: Column | float | None = None) -> Column:
        """Return the level that holds `near` bytes: 0 (first), 1 (second) or 2 (farther). `far` is
        the size in the second level if set conflicts make it differ."""
        far = near if far is None else far
        return np.where(near <= self.l1, 0, np.where(far <= self.l2, 1, 2))

    def level_of_rows(
        self, rows: Column, length: Column, stride: Column | int, beside: Column | float = 0
    ) -> Column:
        """Return the level that holds rows of `length` bytes, `stride` bytes apart. Rows that map
        to few sets (set conflicts) leave the other sets unused."""
        strides = np.broadcast_to(np.asarray(stride, np.int64), rows.shape)
        return self.level(
            *(rows * np.maximum(length, np.gcd(strides, way)) + beside for way in WAY_BYTES)
        )

    def first_read(self, nbytes: float, *, is_cold: bool = False) -> str:
        """Return the level from which an operand is first read: `l2`, `far` (last-level cache) or
        `memory`. A kernel may count on half of the last-level cache, which other cores share."""
        if is_cold or nbytes > self.target.limits["l3_bytes"] / 2:
            return "memory"
        return "far" if nbytes > self.target.limits["l2_bytes"] else "l2"
