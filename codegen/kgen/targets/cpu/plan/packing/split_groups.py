"""Groups of B whose products with unsigned bytes of A fit in pairs in 16 bits.

An instruction adds two products of an unsigned and a signed byte to a s16 with saturation. Weights
of opposite signs never saturate, and weights of equal signs do not if |b0 + b1| <= 128. Adding 128
makes A unsigned. A second copy of A has 255 minus the odd elements of the first copy, and is
multiplied by weights whose odd elements have the opposite sign. Most groups fit with one of the
copies. A group that fits with neither becomes two: weights limited to -64..64, and the remainders.

A split panel is a list of groups, with the place of each in A. The sums of a column start from the
sum of its weights times -128, or times 127 for reversed elements of A.
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
    """Return, for each number of `columns` of a panel, two fractions of the groups: those that do
    not fit with the first copy of A, and those that fit with neither copy."""
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
    """Split panel of a prepacked B, with at most two groups for each of `groups`. `stored_group` is
    the number of consecutive k of a column in the prepacked B. `sums` is the type of accumulators.
    """

    #: Largest sum of a pair of weights; the weight that has no opposite; limits of a part.
    most_of_pair: ClassVar[int] = MOST_OF_PAIR
    least: ClassVar[int] = -MOST_OF_PAIR
    smallest_part: ClassVar[int] = -MOST_OF_PAIR // 2
    largest_part: ClassVar[int] = MOST_OF_PAIR // 2
    #: Mask of the odd byte of a pair, as s16.
    odd_bytes: ClassVar[int] = -0x100
    #: Factor of a weight in the start value of its column, for A + 128; and what is added to the
    #: factor for 127 - A and an opposite weight.
    first_factor: ClassVar[int] = -128
    second_factor: ClassVar[int] = 127 + 128

    groups: GroupsOfB
    stored_group: int
    sums: Vector
    copies: UnsignedCopies

    @property
    def note(self) -> str:
        return (
            "exact products in 16 bits: elements of A get +128, or are 127 minus them where that "
            f"keeps pairs of B within {MOST_OF_PAIR}; other groups of B are multiplied in two parts"
        )

    @property
    def blocking(self) -> Blocking:
        return self.groups.blocking

    @property
    def most(self) -> int:
        """Groups of a split panel."""
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
        """Byte offset of the places of groups: bytes from the start of a row of packed A."""
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
        """Return each vector of columns after the one before it, which the first one lacks."""
        return tuple(zip((None, *columns), columns, strict=False))

    def chained(self, panel: str, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the names of start values while they are summed up, for each vector of columns."""
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
