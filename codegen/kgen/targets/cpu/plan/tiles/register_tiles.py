"""Register tiles that cover a block of the output."""

from __future__ import annotations

from functools import cached_property

from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.tiles.tile import RegisterTile, tile, tile_heights
from kgen_runtime.values import frozen


@frozen
class RegisterTiles:
    """Tiles of mr x nr, and the lower and narrower ones at the bottom and at the right.

    `lanes` is the columns of a vector; `a_stride`, `b_step` and `out_strides` are as of
    :func:`tile`; `has_halves`: half a vector takes half the time of a whole one.
    """

    blocking: Blocking
    lanes: int
    a_stride: int
    b_step: int
    out_strides: tuple[int, int]
    has_halves: bool = False

    @property
    def low(self) -> tuple[int, int]:
        """Rows of each tile under the whole ones, and how many of them there are in a block."""
        rows, mr = self.blocking.spec.m, self.blocking.schedule.mr
        heights = [(rows % mr, 1)] if self.blocking.rows_vary else tile_heights(rows, mr)
        return heights[-1]

    @property
    def bottom_rows(self) -> int:
        return self.low[0]

    @property
    def has_bottoms(self) -> bool:
        """Several tiles are lower than the others."""
        return self.blocking.m_edge and self.low[1] > 1

    @property
    def rows_whole(self) -> str:
        """Rows of the block in tiles of mr rows."""
        if not self.has_bottoms:
            return self.blocking.rows_whole
        height, count = self.low
        return str(self.blocking.spec.m - height * count)

    @property
    def rounding(self) -> int:
        """Added to a tile's first row so that division by mr gives the tile's number."""
        return self.blocking.schedule.mr - 1 if self.has_bottoms else 0

    @cached_property
    def whole(self) -> RegisterTile:
        return self._tile(self.blocking.schedule.mr, self.blocking.schedule.nr)

    @cached_property
    def bottom(self) -> RegisterTile:
        return self._tile(self.bottom_rows, self.blocking.schedule.nr)

    @cached_property
    def right(self) -> RegisterTile:
        return self._tile(self.blocking.schedule.mr, self._edge)

    @cached_property
    def corner(self) -> RegisterTile:
        return self._tile(self.bottom_rows, self._edge)

    @property
    def _edge(self) -> int:
        return self.blocking.spec.n % self.blocking.schedule.nr

    @property
    def top(self) -> tuple[RegisterTile, ...]:
        """Tile at the top of each kind of panel."""
        whole = (self.whole,) if self.blocking.has_whole_panel else ()
        return (*whole, self.right) if self.blocking.has_edge_panel else whole

    @property
    def all(self) -> tuple[RegisterTile, ...]:
        """Tiles that the shape needs."""
        whole = (self.bottom,) if self.blocking.has_whole_panel else ()
        low = (*whole, self.corner) if self.blocking.has_edge_panel else whole
        found = self.top if self.blocking.has_whole_rows else ()
        return (*found, *low) if self.blocking.m_edge else found

    @property
    def uses_halves(self) -> bool:
        return any(column.is_half for tile in self.all for column in tile.columns)

    def _tile(self, rows: int, width: int) -> RegisterTile:
        return tile(
            rows,
            width,
            count=self.lanes,
            a_stride=self.a_stride,
            b_step=self.b_step,
            out_strides=self.out_strides,
            has_halves=self.has_halves,
        )
