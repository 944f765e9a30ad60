"""Split panels of s8 weights: exact products by VPMADDUBSW, on x86-64 without VNNI.

VPMADDUBSW adds two products of unsigned bytes of A and signed bytes of B, and saturates the sum to
s16. A *pair* of weights b0, b1 (neighbours along K) never saturates if |b0 + b1| <= 128. A *group*
is two pairs of a column, and fits if the pairs of all columns of a panel fit. There are two
unsigned copies of A:

- a + 128 for all elements.
- The same with 127 - a for odd elements. Odd weights then have the opposite sign, so a pair fits if
  |b0 - b1| <= 128.

A group that fits with neither copy becomes two groups: weights limited to -64..64, and remainders.
A split panel has the groups and, for each, the offset of its elements in A. The sums of a column
start from -128 times its weights, or from 127 times those multiplied by 127 - a.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgen.targets.contraction.candidate_table import Column as Extents
from kgen.targets.contraction.candidate_table import ceil_div, rounded_up
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.packing.compensation import START_BYTES
from kgen.targets.cpu.plan.packing.groups import GroupsOfB
from kgen.targets.cpu.plan.packing.packed_a import UnsignedCopies
from kgen.targets.cpu.plan.tiles.tile import Column
from kgen.targets.cpu.plan.vectors import Vector, index_list
from kgen_runtime.values import frozen

Array = npt.NDArray[Any]
#: Bytes of a group of a column, of a group's place in A, and of a panel's number of groups.
GROUP_BYTES, PLACE_BYTES, COUNT_BYTES = 4, 4, 8
#: Largest sum of a pair of weights: 255 * 128 fits in a s16, 255 * 129 does not.
MOST_OF_PAIR = 128


def split_bytes(kc: Extents | int, nr: Extents | int) -> Extents | int:
    """Return the bytes of a split panel."""
    groups = 2 * ceil_div(kc, GROUP_BYTES)
    needed = groups * (nr * GROUP_BYTES + PLACE_BYTES) + nr * START_BYTES + COUNT_BYTES
    return rounded_up(needed, LINE_BYTES * nr)


def unfit_groups(b: Array, columns: Iterable[int]) -> Array:
    """Return two fractions of the groups for each width of a panel in `columns`: groups that do not
    fit with the first copy of A, and groups that fit with neither copy."""
    k, n = b.shape
    pairs = np.pad(b, ((0, -k % GROUP_BYTES), (0, 0))).reshape(-1, 2, n)
    even, odd = (pairs[:, which].astype(np.int16) for which in range(2))
    beyond, apart = (abs(each) > MOST_OF_PAIR for each in (even + odd, even - odd))
    apart |= odd == -MOST_OF_PAIR
    unfit = np.stack([each[::2] | each[1::2] for each in (beyond, apart)])
    panels = [np.logical_or.reduceat(unfit, range(0, n, width), axis=2) for width in columns]
    return np.array([(each[0].mean(), each.all(0).mean()) for each in panels])


@frozen
class SplitGroups:
    """Layout of a split panel: at most two groups for each of `groups`. The prepacked B holds
    `stored_group` elements of a column side by side. Accumulators have the type `sums`."""

    #: Largest sum of a pair of weights; the weight that has no opposite; limits of a part.
    most_of_pair: ClassVar[int] = MOST_OF_PAIR
    least: ClassVar[int] = -MOST_OF_PAIR
    smallest_part: ClassVar[int] = -MOST_OF_PAIR // 2
    largest_part: ClassVar[int] = MOST_OF_PAIR // 2
    #: Mask of the odd byte of a pair, as s16.
    odd_bytes: ClassVar[int] = -0x100
    #: Factor of a weight in the start value of its column for a + 128; change of it for 127 - a.
    first_factor: ClassVar[int] = -128
    second_factor: ClassVar[int] = 127 + 128

    groups: GroupsOfB
    stored_group: int
    sums: Vector
    copies: UnsignedCopies

    @property
    def note(self) -> str:
        return (
            "exact products in 16 bits: elements a of A are stored as a + 128, odd ones also as "
            f"127 - a; groups of B with pairs beyond {MOST_OF_PAIR} for both are split in two"
        )

    @property
    def blocking(self) -> Blocking:
        return self.groups.blocking

    @property
    def most(self) -> int:
        """Largest number of groups of a split panel."""
        return -(-self.blocking.schedule.kc // self.groups.group) * 2

    @property
    def starts(self) -> int:
        """Byte offset of the start values of sums in a split panel."""
        return self.most * self.groups.pack_row

    @property
    def count(self) -> int:
        """Byte offset of the number of groups."""
        return self.starts + self.blocking.schedule.nr * self.sums.itemsize

    @property
    def places(self) -> int:
        """Byte offset of the list of each group's byte offset in a row of packed A."""
        return self.count + COUNT_BYTES

    @property
    def bytes(self) -> int:
        return int(split_bytes(self.blocking.schedule.kc, self.blocking.schedule.nr))

    def source(self, column: Column) -> int:
        """Return the byte offset of a vector of columns in the prepacked panel."""
        return column.first * self.groups.column_stride

    def starts_of(self, column: Column) -> int:
        return self.starts + column.first * self.sums.itemsize

    def successive(self, columns: Sequence[Column]) -> tuple[tuple[Column | None, Column], ...]:
        """Return pairs of a vector of columns and the one before it (None for the first)."""
        return tuple(zip((None, *columns), columns, strict=False))

    def chained(self, panel: str, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the names of the running start values of each vector of columns."""
        return tuple(f"{panel}.{column.name}.sum" for column in columns)

    # -- reading a prepacked panel ---------------------------------------------------------------

    @property
    def half(self) -> Vector:
        """Half of a group of all columns, which is contiguous in a prepacked panel."""
        return self.groups.packed.half

    @property
    def joined(self) -> str:
        """Shuffle mask that joins the halves of groups."""
        half, width = self.stored_group, self.groups.width
        return index_list(
            part * width * half + column * half + i
            for column in range(width)
            for part in range(2)
            for i in range(half)
        )

    @property
    def lacks_half(self) -> bool:
        """Whether a prepacked B ends in the middle of a group."""
        return 0 < self.blocking.spec.k % self.groups.group <= self.stored_group

    @property
    def words(self) -> Vector:
        return self.copies.words(self.groups.packed)
