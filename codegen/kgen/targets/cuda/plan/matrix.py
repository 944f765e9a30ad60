"""A matrix as it is stored, and the accesses that its rows are aligned to."""

from __future__ import annotations

import math
from functools import lru_cache

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.batch import BatchTerm
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen_runtime.values import frozen

#: Widest access of a thread.
MAX_ACCESS_BYTES = 16
#: cp.async copies 4, 8 or 16 bytes (PTX ISA, "cp.async").
MIN_ASYNC_BYTES = 4

#: Largest immediate offset of an address: 32 bits with sign.
MAX_IMMEDIATE = 2**31 - 1


@frozen
class Matrix:
    """Operand of a matmul in its stored order, in rows and columns; strides are in bytes."""

    access: AccessMap

    @property
    def name(self) -> str:
        return self.access.name

    @property
    def dtype(self) -> DType:
        return self.access.dtype

    @property
    def elements_per_word(self) -> int:
        return 4 // self.dtype.itemsize

    @property
    def k_inner(self) -> bool:
        """Whether rows are contiguous along k."""
        return self.access.inner == "k"

    @property
    def rows(self) -> int:
        return self.access.rows if self.k_inner else self.access.depth

    @property
    def cols(self) -> int:
        return self.access.depth if self.k_inner else self.access.rows

    @property
    def row_stride(self) -> int:
        (digit,) = self.access.digits(self.access.outer)
        return digit.stride * self.dtype.itemsize

    @property
    def batch_terms(self) -> tuple[BatchTerm, ...]:
        itemsize = self.dtype.itemsize
        return tuple(
            BatchTerm(name=term.name, stride=term.stride * itemsize) for term in self.access.batch
        )

    @property
    def batch_stride(self) -> int:
        """Greatest common divisor of the batch strides; 0 if all products share the matrix."""
        return math.gcd(*(term.stride for term in self.batch_terms))

    @property
    def aligned_bytes(self) -> int:
        """Alignment of all contiguous runs in bytes, at most the widest access.

        Tensors are aligned to 16 bytes. In an operand that is not a matrix, an access stays within
        its run.
        """
        starts = (*self.access.starts, self.access.start)
        if not self.access.is_affine:
            starts = (*starts, self.access.run)
        return math.gcd(MAX_ACCESS_BYTES, *(start * self.dtype.itemsize for start in starts))

    def is_asynchronous(self, target: Target) -> bool:
        """Whether cp.async can copy it."""
        return target.has("cp_async") and self.aligned_bytes >= MIN_ASYNC_BYTES


@lru_cache
def matrices(spec: Matmul) -> tuple[Matrix, Matrix]:
    """Return A and B in their stored order.

    A stride that no element needs is 0, so that it does not constrain the alignment.
    """
    a, b = (Matrix(access=access.without_idle_strides) for access in access_maps(spec))
    return a, b
