"""Steps along K of AMX tiles, and the rows that are finished in them."""

from __future__ import annotations

from kgen.targets.cpu.plan.amx.tiles import TILE_ROWS
from kgen.targets.cpu.plan.extents import Blocking
from kgen_runtime.values import frozen


@frozen
class TileSteps:
    """Tiles along K: `count` in all, each of `run_k` elements."""

    blocking: Blocking
    count: int
    run_k: int

    @property
    def least(self) -> int:
        """Tiles along K of the shortest block."""
        return min(self.count - self.last_start, self.of_block, self.count)

    @property
    def of_block(self) -> int:
        """Tiles along K of a block."""
        return self.blocking.schedule.kc // self.run_k

    @property
    def groups(self) -> int:
        """Groups along K of a block, a row of a tile each."""
        return self.of_block * TILE_ROWS

    @property
    def last_start(self) -> int:
        """First step of the last block of K."""
        return (self.count - 1) // self.of_block * self.of_block

    @property
    def vary(self) -> bool:
        return self.blocking.k_blocked and self.count % self.of_block != 0

    @property
    def first(self) -> str:
        return "%s0" if self.blocking.k_blocked else "0"

    @property
    def end(self) -> str:
        return "%s1" if self.blocking.k_blocked else str(self.count)


@frozen
class FinishedRows:
    """Rows of the register tile before that are finished with each step of this one."""

    tile_rows: int
    steps: TileSteps

    @property
    def last_step(self) -> int:
        """Steps of the next register tile, without the first, which stores the sums."""
        return self.steps.least - 1

    @property
    def at_once(self) -> bool:
        """There are none: all rows are finished with the first step, once their sums are stored."""
        return self.last_step == 0

    @property
    def rows(self) -> int:
        """Rows of the last register tile that are finished with each step of this one."""
        return -(-self.tile_rows // max(1, self.last_step))

    @property
    def is_one_row(self) -> bool:
        return self.rows == 1

    @property
    def count(self) -> int:
        """Steps that finish some; the last rows overlap if `overlap`."""
        return -(-self.tile_rows // self.rows)

    @property
    def overlap(self) -> bool:
        return self.tile_rows % self.rows != 0

    @property
    def last(self) -> int:
        """First of the last rows that are finished together."""
        return self.tile_rows - self.rows
