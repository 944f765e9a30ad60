"""Division of a CPU matmul into tasks (mc x nc outputs), blocks of K, panels and register tiles."""

from __future__ import annotations

from functools import cached_property

from kgen.schedule import BlockedMatmul, CpuMatmul, OuterMatmul
from kgen.spec import Matmul
from kgen_runtime.values import frozen


@frozen
class BlockedAxis:
    """M, N or K, divided into blocks, and blocks into tiles. Properties of type str are LLVM
    operands (:meth:`operand`). `name` is the operand of the current block's extent if blocks
    differ, `tiled` that of its extent in whole tiles."""

    name: str
    tiled: str
    extent: int
    block: int
    tile: int
    #: Whether a task may have several blocks.
    merges_blocks: bool = False

    @property
    def blocks(self) -> int:
        return -(-self.extent // self.block)

    @property
    def is_split(self) -> bool:
        return self.blocks > 1

    @property
    def varies(self) -> bool:
        return self.is_split and (self.merges_blocks or self.extent % self.block != 0)

    @property
    def first(self) -> int:
        return min(self.extent, self.block)

    @property
    def last(self) -> int:
        return self.extent - (self.blocks - 1) * self.block

    def operand(self, name: str, value: int) -> str:
        """Return `value`, or `name` if the template computes it because the extent varies."""
        return name if self.varies else str(value)

    @property
    def size(self) -> str:
        return self.operand(self.name, self.first)

    @property
    def has_tile(self) -> bool:
        return self.extent >= self.tile

    @property
    def has_edge(self) -> bool:
        """Whether the last tile is partial."""
        return self.extent % self.tile != 0

    @property
    def whole(self) -> str:
        """Extent of the current block in whole tiles."""
        name = self.tiled if self.has_edge else self.name
        return self.operand(name, self.first - self.first % self.tile)

    def units(self, count: int, name: str = "") -> AxisUnits:
        return AxisUnits(axis=self, count=count, name=name or self.name)


@frozen
class AxisUnits:
    """Units of `count` elements in the current block of an axis. Operands begin with `name`."""

    axis: BlockedAxis
    count: int
    name: str

    @property
    def whole(self) -> str:
        """Elements of the block that are in whole units."""
        first = self.axis.first
        return self.axis.operand(f"{self.name}.whole", first - first % self.count)

    @property
    def padded(self) -> str:
        """Elements of the block, rounded up to whole units."""
        return self.axis.operand(
            f"{self.name}.padded", -(-self.axis.first // self.count) * self.count
        )

    @property
    def has_whole(self) -> bool:
        return self.axis.varies or self.axis.first >= self.count

    @property
    def tail(self) -> int:
        """Elements of a partial last unit; 0 if the last unit is whole."""
        return self.axis.extent % self.count


@frozen
class Blocking:
    """Extents of a matmul's tasks, blocks and panels."""

    spec: Matmul
    schedule: BlockedMatmul
    #: Columns per vector of the epilogue.
    lanes: int

    @cached_property
    def m(self) -> BlockedAxis:
        mr, mc = self.schedule.mr, self.schedule.mc
        return BlockedAxis(name="%rows", tiled="%rows.whole", extent=self.spec.m, block=mc, tile=mr)

    @cached_property
    def n(self) -> BlockedAxis:
        return BlockedAxis(
            name="%columns",
            tiled="%panels.whole",
            extent=self.spec.n,
            block=self.schedule.nc,
            tile=self.schedule.nr,
            merges_blocks=self.tasks_per_pass > 1,
        )

    @cached_property
    def k(self) -> BlockedAxis:
        """Axis K. If it is split, partial sums are carried from one block to the next."""
        return BlockedAxis(
            name="%depth", tiled="", extent=self.spec.k, block=self.schedule.kc, tile=1
        )

    @property
    def has_batch(self) -> bool:
        return self.spec.batch > 1

    @property
    def blocks_per_batch(self) -> int:
        return self.m.blocks * self.n.blocks

    @property
    def grid(self) -> str:
        """Description of a launch's blocks for the kernel's header."""
        batches = f"{self.spec.batch} batches x " if self.has_batch else ""
        grid = f"{batches}{self.m.blocks} x {self.n.blocks} blocks"
        return f"up to {self.m.first} x {self.n.first} outputs; {grid}"

    @property
    def row_tiles(self) -> int:
        """Number of register tiles, one below the other, that share a panel of B."""
        return -(-self.m.first // self.schedule.mr)

    @property
    def has_row_tiles(self) -> bool:
        return self.row_tiles > 1

    @property
    def tasks_per_pass(self) -> int:
        schedule = self.schedule
        return schedule.tasks_per_pass if isinstance(schedule, CpuMatmul | OuterMatmul) else 1

    @property
    def takes_several(self) -> bool:
        """Whether a pass may have several tasks."""
        return self.n.merges_blocks and self.n.is_split

    @property
    def columns_most(self) -> str:
        """Columns of each pass except the last one."""
        return "%columns.most" if self.takes_several else str(self.schedule.nc)

    @property
    def vectors(self) -> AxisUnits:
        """Vectors of columns."""
        return self.n.units(self.lanes)
