"""A matrix as it is stored, and the accesses that its rows are aligned to."""

from __future__ import annotations

import math

from kgen.spec import DType
from kgen.targets.base import Target
from kgen.targets.batch import BatchTerm
from kgen_runtime.values import frozen

#: Widest access of a thread.
MAX_ACCESS_BYTES = 16
#: cp.async copies 4, 8 or 16 bytes (PTX ISA, "cp.async").
MIN_ASYNC_BYTES = 4

#: Widest distance that an address's immediate holds: 32 bits with sign.
MAX_IMMEDIATE = 2**31 - 1


@frozen
class Matrix:
    """An operand as stored: `rows` x `cols` elements, strides in bytes, and its k dimension."""

    name: str
    dtype: DType
    rows: int
    cols: int
    row_stride: int
    batch_terms: tuple[BatchTerm, ...]
    k_inner: bool

    @property
    def batch_stride(self) -> int:
        """What all matrices of the batch are multiples of apart; 0 if they are one."""
        return math.gcd(*(term.stride for term in self.batch_terms))

    @property
    def k(self) -> int:
        return self.cols if self.k_inner else self.rows

    @property
    def aligned_bytes(self) -> int:
        """What all rows are multiples of, up to the widest access; every tensor starts at 16."""
        return math.gcd(MAX_ACCESS_BYTES, self.row_stride, self.batch_stride)

    def is_asynchronous(self, target: Target) -> bool:
        """Whether cp.async can copy it."""
        return target.has("cp_async") and self.aligned_bytes >= MIN_ASYNC_BYTES
