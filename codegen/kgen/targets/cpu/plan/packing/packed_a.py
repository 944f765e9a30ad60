"""Packed copy of A for multiply-adds, dot products and AMX tiles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, are_windows
from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.extents import AxisUnits, BlockedAxis, Blocking
from kgen.targets.cpu.plan.packing.packed_windows import MASKED_BITS, ImageRows, WindowedA
from kgen.targets.cpu.plan.packing.panel import RegisterTranspose, register_transpose
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Bytes of padding after a row of packed A, which avoids set conflicts of rows.
ROW_PADDING = 64


@frozen
class UnsignedCopies:
    """Packed A of s8 in two copies of unsigned bytes. The first copy has each element plus 128. The
    second one, `second` bytes behind it, has 127 minus the element in place of odd elements."""

    #: Pairs of bytes as s16, the even one in the lower byte: (128, 128), (128, 127), (127, 128).
    unsigned_pair: ClassVar[int] = -0x7F80
    reversed_pair: ClassVar[int] = 0x7F80
    shifted_pair: ClassVar[int] = -0x7F81

    second: int

    def words(self, packed: Vector) -> Vector:
        """Return the pairs of bytes of a vector as words."""
        return Vector(count=packed.count // 2, scalar="i16")


@frozen
class PackedA:
    """A packed as [mc][kc], or as [kc][mc] with `by_columns`.

    A run is a vector along a packed row. `run` is the access that reads it; `packed` is its packed
    type, of the same or a wider element type. With `has_zeros`, zeros fill the last run of K. With
    `is_unsigned`, there are two copies of unsigned bytes.
    `strides` are the strides of A in bytes along the batch, M and K.
    """

    target: Target
    blocking: Blocking
    run: Access
    packed: Vector
    strides: Sequence[int]
    by_columns: bool = False
    has_zeros: bool = False
    is_unsigned: bool = False

    @property
    def copies(self) -> UnsignedCopies | None:
        return UnsignedCopies(second=self.bytes) if self.is_unsigned else None

    @property
    def along(self) -> BlockedAxis:
        return self.blocking.m if self.by_columns else self.blocking.k

    @property
    def across(self) -> BlockedAxis:
        return self.blocking.k if self.by_columns else self.blocking.m

    @property
    def runs(self) -> AxisUnits:
        """Runs of a row."""
        return self.along.units(self.packed.count, "%a")

    @property
    def a_stride(self) -> int:
        """Bytes in A from one row to the next."""
        return self.strides[2 if self.by_columns else 1]

    @property
    def row(self) -> int:
        runs = -(-self.along.block // self.packed.count)
        return runs * self.packed.bytes + ROW_PADDING

    @property
    def bytes(self) -> int:
        return self.across.block * self.row

    def buffer(self, dtype: str) -> Buffer:
        order = "[kc][mc]" if self.by_columns else "[mc][kc]"
        holds = f"{dtype} {order}, {self.row} B per row" + ", zero past K" * self.has_zeros
        return Buffer(name="%a.pack", holds=holds, bytes=self.bytes)

    @property
    def steps(self) -> tuple[int, int]:
        """Bytes in packed A from one m to the next, and from one k to the next."""
        size = self.packed.itemsize
        if self.image_rows:
            return self.image_rows.step_bytes, size
        return (size, self.row) if self.by_columns else (self.row, size)

    @property
    def widens(self) -> bool:
        return self.packed != self.run.stored

    @property
    def is_gathered(self) -> bool:
        """Whether the elements of a run are not consecutive in A."""
        return self.blocking.spec.layout.a_transposed and not self.by_columns

    @property
    def transpose(self) -> RegisterTranspose | None:
        """Transpose in registers that packs a gathered A; None if a block is too small for one."""
        if not self.is_gathered:
            return None
        dtype, packed = self.blocking.spec.dtype, self.packed.scalar
        found = register_transpose(dtype, packed=packed, stride=self.strides[2], pack_row=self.row)
        last = min(self.blocking.m.last, self.blocking.k.last)
        return found if last >= found.size else None

    @cached_property
    def windows(self) -> WindowedA | None:
        """Packing of the windows of a convolution; None if A is a matrix."""
        spec = self.blocking.spec
        if not (isinstance(spec, ImplicitGemm) and are_windows(spec)):
            return None
        least = [bits for feature, bits in MASKED_BITS.items() if self.target.has(feature)]
        return WindowedA(
            conv=spec.operation,
            blocking=self.blocking,
            elements=self.run,
            vector=self.packed,
            row=self.row,
            loads_by_mask=8 * self.run.itemsize >= min(least, default=MASKED_BITS["avx2"]),
            clears_end=self.has_zeros and self.runs.tail > 0,
        )

    @cached_property
    def image_rows(self) -> ImageRows | None:
        """Windows that tiles read in place; None if A is packed, or a matrix."""
        if self.windows is None or self.blocking.schedule.pack_a:
            return None
        return ImageRows(windows=self.windows)
