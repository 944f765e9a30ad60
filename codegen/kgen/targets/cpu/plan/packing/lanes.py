"""Rows of B interleaved within lanes of 128 bits.

One or two shuffles turn whole vectors of rows into groups. Shuffles across lanes would be more, and
slower. Results hold groups of a few neighbouring columns from every lane; sums stay in that order
until the end of K.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.cpu.plan.tiles.tile import Column
from kgen.targets.cpu.plan.vectors import Access, Vector, index_list
from kgen_runtime.values import frozen

LANE_BYTES = 16


@frozen
class Unpack:
    """Shuffle that interleaves lower or upper halves of each lane of x and y (PUNPCK, ZIP)."""

    result: str
    x: str
    y: str
    mask: str


@frozen
class Strip:
    """Vectors of columns, as many as a group has rows, read `b` bytes from the tile's corner."""

    name: str
    b: int
    columns: tuple[Column, ...]


def unpacks(
    rows: Sequence[str], results: Sequence[str], *, count: int, lane: int
) -> tuple[Unpack, ...]:
    """Return the shuffles that interleave `rows`, a power of two of vectors, within lanes of `lane`
    elements. `results` have the first groups of each lane, the second, and so on."""
    found: list[Unpack] = []
    held, unit = [[row] for row in rows], 1
    while len(held) > 1:
        pairs = list(zip(held[::2], held[1::2], strict=True))
        held = []
        for x_vectors, y_vectors in pairs:
            held.append([])
            for x, y in zip(x_vectors, y_vectors, strict=True):
                for half in (0, 1):
                    last = len(pairs) == 1
                    name = results[len(held[-1])] if last else f"{results[0]}.u{len(found)}"
                    mask = _mask(count, lane, unit, half)
                    found.append(Unpack(result=name, x=x, y=y, mask=mask))
                    held[-1].append(name)
        unit *= 2
    return tuple(found)


def _mask(count: int, lane: int, unit: int, half: int) -> str:
    """Return runs of `unit` elements of two vectors in turn, from one half of each lane."""
    return index_list(
        [
            vector * count + start + half * lane // 2 + at + i
            for start in range(0, count, lane)
            for at in range(0, lane // 2, unit)
            for vector in (0, 1)
            for i in range(unit)
        ]
    )


def column_order(width: int, *, lane: int, group: int) -> tuple[int, ...]:
    """Return the position of each column's sum in a strip of `width` columns, `lane` in a lane."""
    run = lane // group
    return tuple(
        column % lane // run * (width // group) + column // lane * run + column % run
        for column in range(width)
    )


@frozen
class Interleaving:
    """Strips of columns whose rows are interleaved in groups.

    `row` is a strip's columns of a row of B in memory; `scalar` is the type of a sum; `group` is
    the rows of a group. If `word_columns` is above 1, words of so many neighbouring columns are
    split instead, which puts the first columns of all words before the second ones.
    """

    row: Access
    scalar: str
    group: int
    word_columns: int = 1

    @property
    def sums(self) -> Vector:
        return Vector(count=self.row.compute.count, scalar=self.scalar)

    @property
    def moves_columns(self) -> bool:
        return list(self._columns) != sorted(self._columns)

    @property
    def order(self) -> str:
        """Shuffle mask that brings a strip's sums into the order of columns."""
        return index_list(self._columns)

    @property
    def _columns(self) -> tuple[int, ...]:
        width, each = self.sums.count, self.word_columns
        if each > 1:
            return tuple(c % each * (width // each) + c // each for c in range(width))
        return column_order(width, lane=self._lane, group=self.group)

    @property
    def _lane(self) -> int:
        """Columns of a row of B in a lane; pairs of bytes for 16 bytes of sums fill half of one."""
        return min(LANE_BYTES // self.row.itemsize, self.sums.count)

    def unpacks(self, rows: Sequence[str], results: Sequence[str]) -> tuple[Unpack, ...]:
        """Return the shuffles from rows of a strip to its vectors of groups."""
        return unpacks(rows, results, count=self.sums.count, lane=self._lane)
