"""Packing for multiply-adds of vectors: A and B in the type of the sums."""

from __future__ import annotations

from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.extents import BlockedAxis, Blocking
from kgen.targets.cpu.plan.packing.panel import PanelsOfB, PanelVector, panel
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen

#: Added to a row of packed A, so that rows a power of two apart do not share a cache set.
ROW_PADDING = 64


@frozen
class WidenedA:
    """A packed as [mc][kc] if it is contiguous along K, else as [kc][mc].

    A run is the elements that are contiguous. `vector` is a packed vector; `m_stride` and
    `k_stride` are the bytes of A from one m, and from one k, to the next.
    """

    blocking: Blocking
    vector: Vector
    m_stride: int
    k_stride: int

    @property
    def by_columns(self) -> bool:
        return self.blocking.spec.layout.a_transposed

    @property
    def _along(self) -> BlockedAxis:
        return self.blocking.m if self.by_columns else self.blocking.k

    @property
    def run(self) -> str:
        return self._along.size

    @property
    def runs(self) -> str:
        return (self.blocking.k if self.by_columns else self.blocking.m).size

    @property
    def run_varies(self) -> bool:
        return self._along.varies

    @property
    def run_whole(self) -> str:
        """Elements of a run in whole vectors."""
        return self._along.operand("%a.whole", self.blocking.whole(self._along.first))

    @property
    def has_whole_vectors(self) -> bool:
        return self.run_varies or self._along.first >= self.vector.count

    @property
    def run_tail(self) -> int:
        return self._along.extent % self.vector.count

    @property
    def has_masked_loads(self) -> bool:
        return self.run_tail > 1

    @property
    def run_stride(self) -> int:
        """Bytes in A from one run to the next."""
        return self.k_stride if self.by_columns else self.m_stride

    @property
    def row(self) -> int:
        schedule = self.blocking.schedule
        longest = schedule.mc if self.by_columns else schedule.kc
        return -(-longest // self.vector.count) * self.vector.bytes + ROW_PADDING

    @property
    def buffer(self) -> Buffer:
        schedule = self.blocking.schedule
        runs = schedule.kc if self.by_columns else schedule.mc
        order = "[kc][mc]" if self.by_columns else "[mc][kc]"
        order = f"{self.vector.scalar} {order}, {self.row} B per row"
        return Buffer(name="%a.pack", holds=order, bytes=runs * self.row)

    @property
    def m(self) -> int:
        """Bytes in packed A from one m to the next."""
        return self.vector.bits // 8 if self.by_columns else self.row

    @property
    def k(self) -> int:
        """Bytes in packed A from one k to the next."""
        return self.row if self.by_columns else self.vector.bits // 8


@frozen
class WidenedB(PanelsOfB):
    """B packed in panels [kc][nr], zero past N; `vector` is a packed vector."""

    vector: Vector

    @property
    def pack_row(self) -> int:
        return self.blocking.schedule.nr * self.vector.bits // 8

    @property
    def panel_bytes(self) -> int:
        return self.blocking.schedule.kc * self.pack_row

    def buffer(self, panels: int) -> Buffer:
        order = f"{self.vector.scalar} [kc][nr], {self.pack_row} B per row"
        return Buffer(name="%b.pack", holds=order, bytes=panels * self.panel_bytes)

    def panel_of(self, columns: int) -> tuple[PanelVector, ...]:
        return panel(
            columns,
            vectors=-(-columns // self.vector.count),
            count=self.vector.count,
            stride=self.column_stride,
            step=self.vector.bytes,
        )

    @property
    def whole(self) -> str:
        """K of a block in whole vectors, if all blocks have the same depth."""
        return str(self.blocking.whole(self.blocking.k.first))

    @property
    def has_tail(self) -> bool:
        """Whether some block of K has a remainder after whole vectors."""
        lengths = (self.blocking.k.first, self.blocking.spec.k % self.blocking.schedule.kc)
        return any(length % self.vector.count for length in lengths)
