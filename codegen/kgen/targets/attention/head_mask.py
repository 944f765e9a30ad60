"""Distances in attention's mask, as kernels on matrices of queries read it."""

from __future__ import annotations

from kgen.spec import Attention, DType
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.batch import BatchTerm
from kgen.targets.contraction.access import Digit
from kgen_runtime.values import frozen


@frozen
class HeadMask:
    """Mask of the matrices of attention; strides in bytes."""

    matrices: HeadMatrices

    @property
    def spec(self) -> Attention:
        return self.matrices.spec

    @property
    def dtype(self) -> DType:
        assert self.spec.mask_dtype is not None
        return self.spec.mask_dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between batch elements, heads, queries and keys."""
        return tuple(step * self.dtype.itemsize for step in self.spec.mask_strides)

    @property
    def rows(self) -> tuple[Digit, ...]:
        """Digits of a row's number."""
        _, head, query, _ = self.strides
        return self.matrices.row_digits(head, query)

    @property
    def divides_rows(self) -> bool:
        """Whether rows are not equally far apart, so that each has an offset of its own."""
        return len(self.rows) > 1

    @property
    def row_bytes(self) -> int:
        """Bytes from a row to the next, if all rows are equally far apart."""
        return 0 if self.divides_rows else self.rows[0].stride

    @property
    def key_bytes(self) -> int:
        """Bytes from a key to the next; 0 if all keys share an element."""
        return self.strides[3]

    @property
    def terms(self) -> tuple[BatchTerm, ...]:
        """Terms of the address."""
        batch, head, _, _ = self.strides
        return self.matrices.terms(self.matrices.strides(batch, head))
