"""Register tiles: the sums that one pass along K keeps in vector registers.

A kernel has one function for each size of tile that its shape needs: whole tiles, the rows left
over at the bottom, the columns left over at the right, and both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kgen_runtime.values import frozen


@frozen
class Row:
    """Row of a tile, the `index`th: byte offsets of its element of A, and in out."""

    name: str
    index: int
    a: int
    out: int


@frozen
class Column:
    """Vector of columns: byte offsets of its vector in a row of B, and in a row of out.

    `first` is its first column in the tile; `valid` is 0 for a whole vector, else how many of its
    columns are in the matrix. `is_half`: they are so few that half a vector is multiplied.
    """

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
    """`rows` by `width` columns."""

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
        """There are more vectors of columns than rows."""
        return len(self.columns) > len(self.rows)

    def sums_of(self, side: Row | Column) -> list[Sum]:
        """Return the sums of a row or of a column."""
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
    """A tile of vectors of `count` elements, the last of which may be a half.

    In bytes: `a_stride` from one row of A to the next, `b_step` from one vector of a row of B to
    the next, `out_strides` from one row, and from one vector, of out to the next.
    """
    row_stride, vector_stride = out_strides
    return RegisterTile(
        width=width,
        rows=tuple(
            Row(name=f"m{r}", index=r, a=r * a_stride, out=r * row_stride) for r in range(rows)
        ),
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


def parts(extent: int, part: int) -> list[tuple[int, int]]:
    """`extent` cut into parts, as (size, how many)."""
    return [
        (size, count)
        for size, count in ((part, extent // part), (extent % part, 1))
        if size and count
    ]


def tile_heights(rows: int, mr: int) -> list[tuple[int, int]]:
    """Return the heights of the register tiles of `rows`, from top to bottom, as (rows, how many).

    The tiles have mr rows or mr - 1, because multiply-adds of a low tile wait for each other. If
    there are too few tiles for that, all have mr but the last, which has the remainder.
    """
    tiles = -(-rows // mr)
    missing = tiles * mr - rows
    if 0 < missing < tiles:
        return [(mr, tiles - missing), (mr - 1, missing)]
    return parts(rows, mr)
