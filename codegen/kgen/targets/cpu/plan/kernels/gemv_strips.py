"""Rows of B in an outer-product kernel: their form in registers, and their groups and strips of
columns."""

from __future__ import annotations

import dataclasses
from enum import Enum, auto

from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import vector_for
from kgen.targets.cpu.plan.finishing import finishing_type
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.tiles.dots import WORD, Dot, dot_for, has_words
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen


class Taken(Enum):
    """Form of the vectors of rows of B in a product.

    - ELEMENTS: elements in their order in memory
    - GROUPS: elements of neighbouring rows, interleaved for an instruction that multiplies groups
      (dots.py)
    - WORDS: words of two neighbouring columns of bf16; a shift makes an f32 of the lower half and a
      mask one of the upper half, with half the loads and shuffles of widening each column. Sums of
      even columns precede those of odd columns until the end of K.
    """

    ELEMENTS = auto()
    GROUPS = auto()
    WORDS = auto()


@frozen
class RowsOfB:
    """Rows of B in the form `taken`; `sums` is a vector of sums in the type that the epilogue
    computes in."""

    taken: Taken
    dot: Dot | None
    sums: Vector

    @property
    def group(self) -> int:
        """Rows that are multiplied together."""
        return self.dot.group if self.dot else 1

    @property
    def vectors(self) -> int:
        """Vectors of sums of a strip: as many as a group has rows, or a word columns."""
        return WORD if self.taken is Taken.WORDS else self.group

    @property
    def strip(self) -> int:
        return self.vectors * self.sums.count

    @property
    def halved(self) -> RowsOfB:
        """Rows of B in vectors of half as many bytes."""
        dot = self.dot.halved if self.dot else None
        return dataclasses.replace(self, dot=dot, sums=self.sums.half)

    def registers(self, m: int, parts: int, strips: int) -> int:
        """Return the registers of a step of `m` rows of A: its operands, sums, and rows of B before
        and after they are interleaved."""
        if self.taken is Taken.WORDS:
            # A strip after the other: words, and of one half at a time a row of B and sums; the
            # mask.
            return m * (parts + 1) + parts + 2
        if self.dot is None:
            return m * (parts + strips) + strips + 1
        groups = -(-parts // self.group)
        mixed = 2 * self.group + self.dot.extra_registers
        return m * (groups + strips * self.group) + mixed


@frozen
class OuterDepth:
    """K of outer products: `blocks` of it in whole blocks, whose streams are `part` rows apart; a
    remainder in parts of `rest_part` rows, the first of which ends at `rest_end`; and `left` rows
    from `left_from` on, fewer than there are streams."""

    part: int
    blocks: int
    rest_part: int
    rest_end: int
    left: int
    left_from: int


@frozen
class SumsInPage:
    """Place of the sums in a page: `distance` bytes from that of B, found by `mask`."""

    distance: int
    mask: int


@frozen
class RowOfA:
    """The `index`th row of A: bytes to it from the first one, and to its sums from theirs."""

    index: int
    a: int
    sums: int


@frozen
class OuterRow:
    """Row of B among those that are read at once, `part` parts from the first; an `absent` row is
    zero."""

    name: str
    part: int
    absent: bool


@frozen
class OuterGroup:
    """Rows that are multiplied together."""

    name: str
    rows: tuple[OuterRow, ...]


@frozen
class OuterStrip:
    """Columns of a step, from the `first` one on; `valid` is 0 if all exist, else how many."""

    name: str
    first: int
    valid: int


@frozen
class OuterProducts:
    """The function for so many rows of B."""

    name: str
    groups: tuple[OuterGroup, ...]


def outer_products(rows: int, group: int) -> OuterProducts:
    """The last group has rows that are absent, if those of B are no multiple of it."""
    return OuterProducts(
        name=f"outer_{rows}",
        groups=tuple(
            OuterGroup(
                name=f"k{at}",
                rows=tuple(
                    OuterRow(name=f"k{i}", part=i, absent=i >= rows) for i in range(at, at + group)
                ),
            )
            for at in range(0, rows, group)
        ),
    )


def strips(columns: int, width: int) -> tuple[OuterStrip, ...]:
    """Columns in strips of `width`."""
    return tuple(
        OuterStrip(name=f"n{at}", first=at, valid=0 if at + width <= columns else columns - at)
        for at in range(0, columns, width)
    )


def rows_of_b(spec: Matmul, target: Target, *, words: bool = False) -> RowsOfB | None:
    """None for operands that are not multiplied by rows of B: those lie side by side, as they are
    multiplied; so does K in A, if it is added up. Bf16 goes by `words` if that is asked for, or if
    the target has no products of it."""
    dot = None if words else dot_for(spec.dtype, target)
    if spec.constant or spec.b_strides[2] != 1:
        return None
    if dot:
        if dot.b_is_unsigned and spec.layout.a_transposed:
            return None
        taken = Taken.GROUPS
    elif has_words(spec):
        taken = Taken.WORDS
    elif spec.dtype is spec.accumulate:
        taken = Taken.ELEMENTS
    else:
        return None
    columns = spec.n if taken is Taken.ELEMENTS else COLUMNS
    return RowsOfB(taken=taken, dot=dot, sums=vector_for(target, finishing_type(spec), columns))
