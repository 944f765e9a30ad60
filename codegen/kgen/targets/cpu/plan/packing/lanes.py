"""Interleave rows of B to groups, for dot-product instructions, within 128-bit lanes of vectors.

Interleaving takes one or two shuffles per vector. Shuffles across lanes would be more and slower.
Each result holds groups of a few adjacent columns from every lane. The accumulators stay in that
order of columns until the end of K.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.cpu.plan.tiles.tile import Column
from kgen.targets.cpu.plan.vectors import Access, Vector, index_list
from kgen_runtime.values import frozen

LANE_BYTES = 16


@frozen
class Unpack:
    """Shuffle that interleaves the lower or the upper halves of x's and y's lanes (PUNPCK, ZIP)."""

    result: str
    x: str
    y: str
    mask: str


@frozen
class Strip:
    """Columns that are interleaved together: as many vectors as a group has rows. `b` is the byte
    offset of the strip from the tile's corner in B."""

    name: str
    b: int
    columns: tuple[Column, ...]


def unpacks(
    rows: Sequence[str], results: Sequence[str], *, count: int, lane: int
) -> tuple[Unpack, ...]:
    """Return the shuffles that interleave `rows` within lanes of `lane` elements. The number of
    rows, which are vectors of `count` elements, is a power of two. The first of the `results` has
    the first groups of each lane, the second one the next groups, and so on."""
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
    """Return the mask that takes runs of `unit` elements from two vectors in turn. The runs are
    from one half of each lane: the lower one for `half` 0, the upper one for 1."""
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
    """Return the position of each column's accumulator in a strip of `width` columns. A lane has
    `lane` columns."""
    run = lane // group
    return tuple(
        column % lane // run * (width // group) + column // lane * run + column % run
        for column in range(width)
    )


@frozen
class Interleaving:
    """Strips of columns whose rows are interleaved in groups.

    `row` is the access to a strip's columns in a row of B. `group` is the number of rows in a
    group. If `word_columns` is above 1, words of that many adjacent columns are split instead:
    the first columns of all words come before the second ones.
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
        """Shuffle mask that puts a strip's accumulators in the order of columns."""
        return index_list(self._columns)

    @property
    def _columns(self) -> tuple[int, ...]:
        width, each = self.sums.count, self.word_columns
        if each > 1:
            return tuple(c % each * (width // each) + c // each for c in range(width))
        return column_order(width, lane=self._lane, group=self.group)

    @property
    def _lane(self) -> int:
        """Columns of a row of B per lane, at most as many as a vector has accumulators."""
        return min(LANE_BYTES // self.row.itemsize, self.sums.count)

    def unpacks(self, rows: Sequence[str], results: Sequence[str]) -> tuple[Unpack, ...]:
        """Return the shuffles from rows of a strip to its vectors of groups."""
        return unpacks(rows, results, count=self.sums.count, lane=self._lane)
