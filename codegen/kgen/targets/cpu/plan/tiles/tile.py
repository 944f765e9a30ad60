"""Register tiles: blocks of the output whose sums stay in vector registers along K.

A kernel has a function for each size of tile that its shape needs: whole tiles, the remaining rows
at the bottom, the remaining columns at the right, and both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kgen.targets.cpu.plan.extents import Blocking
from kgen_runtime.values import frozen


@frozen
class Row:
    """Row `index` of a tile; `a` and `out` are its byte offsets in A and in the output."""

    name: str
    index: int
    a: int
    out: int


@frozen
class Column:
    """Vector of columns of a tile; `b` and `out` are its byte offsets in a row of B and of out.
    `first` is its first column in the tile. `valid` is the number of its columns inside the matrix
    if the vector is partial, and 0 if it is whole. With `is_half`, a half vector is multiplied."""

    name: str
    first: int
    valid: int
    is_half: bool
    b: int
    out: int


@frozen
class Sum:
    """Vector of sums: `at` is its byte offset from the tile's corner in out."""

    name: str
    row: Row
    column: Column

    @property
    def at(self) -> int:
        return self.row.out + self.column.out


@dataclass(frozen=True)
class RegisterTile:
    """Tile of `rows` by `width` columns."""

    width: int
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        return f"tile_{len(self.rows)}x{self.width}"

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        return tuple(
            Sum(name=f"sum_{row.name}_{column.name}", row=row, column=column)
            for row in self.rows
            for column in self.columns
        )

    @property
    def is_wide(self) -> bool:
        return len(self.columns) > len(self.rows)

    def sums_of(self, side: Row | Column) -> list[Sum]:
        return [s for s in self.sums if side in (s.row, s.column)]

    @property
    def sum_names(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.sums)


def tile(
    rows: int,
    width: int,
    *,
    count: int,
    a_stride: int,
    b_step: int,
    out_strides: Sequence[int],
    has_halves: bool = False,
) -> RegisterTile:
    """Return a tile with vectors of `count` elements; the last vector may be a half. Strides are in
    bytes: `a_stride` to the next row of A, `b_step` to the next vector in a row of B, `out_strides`
    to the next row and to the next vector in the output."""
    row_stride, vector_stride = out_strides
    return RegisterTile(
        width=width,
        rows=tile_rows(rows, a_stride, row_stride),
        columns=tuple(
            Column(
                name=f"n{v}",
                first=v * count,
                valid=0 if (v + 1) * count <= width else width - v * count,
                is_half=has_halves and width - v * count <= count // 2,
                b=v * b_step,
                out=v * vector_stride,
            )
            for v in range(-(-width // count))
        ),
    )


def tile_rows(count: int, a_stride: int, out_stride: int) -> tuple[Row, ...]:
    """Return the rows of a tile, `a_stride` bytes apart in A and `out_stride` bytes in out."""
    return tuple(
        Row(name=f"m{r}", index=r, a=r * a_stride, out=r * out_stride) for r in range(count)
    )


def tile_heights(rows: int, mr: int) -> list[tuple[int, int]]:
    """Return the heights of the register tiles that cover `rows`, as (height, number of tiles).
    Heights are mr and mr - 1, from top to bottom, because multiply-adds of a low tile wait for each
    other. If there are too few tiles for that, the last tile has the remainder of rows."""
    tiles = -(-rows // mr)
    missing = tiles * mr - rows
    if 0 < missing < tiles:
        return [(mr, tiles - missing), (mr - 1, missing)]
    found = ((mr, rows // mr), (rows % mr, 1))
    return [(height, count) for height, count in found if height and count]


@frozen
class RegisterTiles:
    """Register tiles of a kernel: mr x nr, and smaller ones at the bottom and at the right. `lanes`
    is the number of columns per vector. The other fields are arguments of :func:`tile`."""

    blocking: Blocking
    lanes: int
    a_stride: int
    b_step: int
    out_strides: tuple[int, int]
    has_halves: bool = False

    @property
    def low(self) -> tuple[int, int]:
        """Height of the lower tiles at the bottom, and their number in a block."""
        rows, mr = self.blocking.spec.m, self.blocking.schedule.mr
        heights = [(rows % mr, 1)] if self.blocking.m.varies else tile_heights(rows, mr)
        return heights[-1]

    @property
    def bottom_rows(self) -> int:
        return self.low[0]

    @property
    def has_bottoms(self) -> bool:
        """Whether a block has several tiles at the bottom that are lower than the others."""
        return self.blocking.m.has_edge and self.low[1] > 1

    @property
    def rows_whole(self) -> str:
        """Number of rows of the block that are in tiles of mr rows."""
        if not self.has_bottoms:
            return self.blocking.m.whole
        height, count = self.low
        return str(self.blocking.spec.m - height * count)

    @property
    def rounding(self) -> int:
        """Addend to a tile's first row, so that division by mr gives the tile's number."""
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
        """Top tile of a whole panel and of the panel at the right edge, if they exist."""
        whole = (self.whole,) if self.blocking.n.has_tile else ()
        return (*whole, self.right) if self.blocking.n.has_edge else whole

    @property
    def all(self) -> tuple[RegisterTile, ...]:
        whole = (self.bottom,) if self.blocking.n.has_tile else ()
        low = (*whole, self.corner) if self.blocking.n.has_edge else whole
        found = self.top if self.blocking.m.has_tile else ()
        return (*found, *low) if self.blocking.m.has_edge else found

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
