"""Packing of a B that is no matrix, through its access map: images stored as nchw, or weights
stored as oihw beside images stored as nhwc.

No matrix of windows is built. The rows of a panel are copied to scratch memory in segments of
columns that differ in the innermost digit only. Elements outside the image have the map's fill.
"""

from __future__ import annotations

from typing import ClassVar

from kgen.spec import Matmul
from kgen.targets.contraction.access import AccessMap, NumberDigit, access_maps, innermost_first
from kgen.targets.contraction.candidate_table import Column
from kgen.targets.contraction.implicit_gemm import ImplicitGemm
from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen

#: Bytes that one access copies.
COPIED_BYTES = 32


@frozen
class MappedB:
    """B that is packed through `access`. Rows of scratch memory are `row` bytes apart. If
    `is_panel`, they are the packed panel; else they are a buffer that is packed like a matrix."""

    #: Pointer to the rows if they are a buffer of their own.
    rows: ClassVar[str] = "%b.rows"

    access: AccessMap
    blocking: Blocking
    is_panel: bool
    pads_with_operand: bool

    @property
    def itemsize(self) -> int:
        return self.access.dtype.itemsize

    @property
    def scalar(self) -> str:
        """Type that copies an element's bits."""
        return f"i{8 * self.itemsize}"

    @property
    def vector(self) -> Vector:
        return Vector(count=COPIED_BYTES // self.itemsize, scalar=self.scalar)

    @property
    def row(self) -> int:
        return self.blocking.schedule.nr * self.itemsize

    @property
    def buffer(self) -> Buffer:
        schedule = self.blocking.schedule
        order = f"{self.access.dtype} [kc][nr], {self.row} B per row"
        return Buffer(name=self.rows, holds=order, bytes=schedule.kc * self.row)

    @property
    def start(self) -> int:
        """Bytes from the tensor's first element to the one whose digits are zero."""
        return self.access.start * self.itemsize

    @property
    def columns(self) -> tuple[NumberDigit, ...]:
        """Digits of a column's number, innermost first."""
        return innermost_first(self.access.row, self.itemsize)

    @property
    def k(self) -> tuple[NumberDigit, ...]:
        """Digits of k, innermost first."""
        return innermost_first(self.access.k, self.itemsize)

    @property
    def is_contiguous(self) -> bool:
        """Whether the columns of a segment are contiguous."""
        return self.access.row[-1].stride == 1


def maps_b(spec: Matmul) -> bool:
    """Return whether B is the operand of a convolution that is not the matrix of the product.

    Windows along one axis of one channel are a matrix with other strides than the product's.
    """
    if not isinstance(spec, ImplicitGemm):
        return False
    access = access_maps(spec)[1]
    _, *strides = spec.b_strides
    digits = (access.k[-1], access.row[-1])
    is_equal = all(d.stride == s for d, s in zip(digits, strides, strict=True) if d.extent > 1)
    return not (access.is_affine and is_equal)


def mapped_bytes(spec: Matmul, kc: Column, nr: Column) -> Column:
    """Return the bytes of the rows of a panel of B before it is packed; 0 if B is a matrix."""
    return kc * nr * spec.b_type.itemsize if maps_b(spec) else 0


def mapped_b(spec: Matmul, blocking: Blocking, panel: Vector | None = None) -> MappedB | None:
    """Return the packing of B through its map; None if B is a matrix. `panel` is the type of a
    vector of packed panels in rows."""
    if not (isinstance(spec, ImplicitGemm) and maps_b(spec)):
        return None
    access = access_maps(spec)[1]
    return MappedB(
        access=access,
        blocking=blocking,
        is_panel=panel is not None and spec.b_type is spec.accumulate,
        pads_with_operand=spec.operation.pads_with_operand and spec.images == "b",
    )
