"""How a CPU matmul is cut: tasks of mc x nc of out, blocks of kc of K, panels, register tiles."""

from __future__ import annotations

from kgen.schedule import BlockedMatmul, CpuMatmul, OuterMatmul
from kgen.spec import Matmul
from kgen_runtime.values import frozen


@frozen
class Blocking:
    """Extents of a matmul's tasks, blocks and panels.

    Properties that are texts are LLVM operands: a constant if the extent is the same for all tasks,
    else the name of the value that the template computes.
    """

    spec: Matmul
    schedule: BlockedMatmul
    #: Columns of a vector of the epilogue.
    lanes: int

    @property
    def blocks_m(self) -> int:
        return -(-self.spec.m // self.schedule.mc)

    @property
    def blocks_n(self) -> int:
        return -(-self.spec.n // self.schedule.nc)

    @property
    def splits_m(self) -> bool:
        return self.blocks_m > 1

    @property
    def splits_n(self) -> bool:
        return self.blocks_n > 1

    @property
    def blocks_per_batch(self) -> int:
        return self.blocks_m * self.blocks_n

    @property
    def grid(self) -> str:
        """Blocks of a launch, for its header."""
        s = self.schedule
        batches = f"{self.spec.batch} batches x " if self.spec.batch > 1 else ""
        rows, columns = min(s.mc, self.spec.m), min(s.nc, self.spec.n)
        grid = f"{batches}{self.blocks_m} x {self.blocks_n} blocks"
        return f"up to {rows} x {columns} outputs; {grid}"

    @property
    def rows_vary(self) -> bool:
        return self.blocks_m > 1 and self.spec.m % self.schedule.mc != 0

    @property
    def m_edge(self) -> bool:
        """The last register tile has rows past M."""
        return self.spec.m % self.schedule.mr != 0

    @property
    def has_whole_rows(self) -> bool:
        """Some register tile is whole."""
        return self.spec.m >= self.schedule.mr

    @property
    def row_tiles(self) -> int:
        """Register tiles, one below the other, that share a panel of B."""
        return -(-min(self.spec.m, self.schedule.mc) // self.schedule.mr)

    @property
    def has_row_tiles(self) -> bool:
        return self.row_tiles > 1

    @property
    def has_batch(self) -> bool:
        return self.spec.batch > 1

    @property
    def rows_whole(self) -> str:
        """Rows of the block in whole register tiles."""
        if self.rows_vary and self.m_edge:
            return "%rows.whole"
        if self.rows_vary:
            return "%rows"
        rows = min(self.spec.m, self.schedule.mc)
        return str(rows - rows % self.schedule.mr)

    @property
    def rows(self) -> str:
        return "%rows" if self.rows_vary else str(min(self.spec.m, self.schedule.mc))

    @property
    def tasks_per_pass(self) -> int:
        """Most neighbouring tasks that a thread computes in one pass."""
        schedule = self.schedule
        return schedule.tasks_per_pass if isinstance(schedule, CpuMatmul | OuterMatmul) else 1

    @property
    def takes_several(self) -> bool:
        """A pass may be of several tasks."""
        return self.tasks_per_pass > 1 and self.blocks_n > 1

    @property
    def columns_vary(self) -> bool:
        return self.blocks_n > 1 and (self.takes_several or self.spec.n % self.schedule.nc != 0)

    @property
    def columns_most(self) -> str:
        """Columns of a pass, but for the last one."""
        return "%columns.most" if self.takes_several else str(self.schedule.nc)

    @property
    def columns(self) -> str:
        return "%columns" if self.columns_vary else str(min(self.spec.n, self.schedule.nc))

    @property
    def columns_whole(self) -> str:
        """Columns in whole vectors."""
        if self.columns_vary:
            return "%columns.whole"
        return str(self.whole(min(self.spec.n, self.schedule.nc)))

    @property
    def has_whole_vectors(self) -> bool:
        return min(self.spec.n, self.schedule.nc) >= self.lanes

    @property
    def n_tail(self) -> int:
        """Columns of the last, partial vector."""
        return self.spec.n % self.lanes

    @property
    def has_edge_panel(self) -> bool:
        """The last panel has columns past N."""
        return self.spec.n % self.schedule.nr != 0

    @property
    def has_whole_panel(self) -> bool:
        return self.spec.n >= self.schedule.nr

    @property
    def panels_whole(self) -> str:
        """Columns of the block in whole panels."""
        if self.columns_vary and self.has_edge_panel:
            return "%panels.whole"
        if self.columns_vary:
            return "%columns"
        columns = min(self.spec.n, self.schedule.nc)
        return str(columns - columns % self.schedule.nr)

    @property
    def depth_varies(self) -> bool:
        return self.k_blocked and self.spec.k % self.schedule.kc != 0

    @property
    def k_blocked(self) -> bool:
        """Sums are carried from one block of K to the next."""
        return self.spec.k > self.schedule.kc

    @property
    def first_depth(self) -> int:
        return min(self.spec.k, self.schedule.kc)

    @property
    def last_depth(self) -> int:
        return self.spec.k - (self.spec.k - 1) // self.schedule.kc * self.schedule.kc

    @property
    def last_rows(self) -> int:
        return self.spec.m - (self.blocks_m - 1) * self.schedule.mc

    @property
    def depth(self) -> str:
        return "%depth" if self.depth_varies else str(self.first_depth)

    def whole(self, elements: int) -> int:
        return elements - elements % self.lanes
