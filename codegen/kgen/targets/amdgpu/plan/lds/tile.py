"""Addresses of the elements of a tile of A or B in LDS.

A tile is divided along k into lines, and a line into slots of 16 bytes, the widest access. For a
matrix instruction, a slot holds consecutive depths of one row, which is a lane's part of a
fragment. For multiply-adds, a slot holds neighbouring rows at one depth. Each row (m of A, n of B)
has one position, which is the same in every line. The swizzle maps a position to a slot of the
line, so that neither stores nor loads have bank conflicts.
"""

from __future__ import annotations

from typing import TypeVar

from kgen.targets.amdgpu.plan.lds.banks import WIDEST, Lanes
from kgen.targets.llvm_ir import ELEMENT
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: A number, or numbers of many lanes.
N = TypeVar("N", int, Lanes)


@frozen
class Swizzle:
    """Permutation of slots: position ^ (position >> position_shift & mask) ^ (line >> s << t &
    mask).

    A mask of 0, or a shift of None, omits a term. The slot stays in the position's aligned block of
    mask + 1, and different positions get different slots.
    """

    position_mask: int = 0
    position_shift: int = 0
    line_mask: int = 0
    #: The shifts s and t of a line.
    line_shift: int = 0
    line_scale: int = 0

    def __str__(self) -> str:
        terms = ["position"]
        if self.position_mask:
            shifted = f" >> {self.position_shift}" if self.position_shift else ""
            terms.append(f"(position{shifted} & {self.position_mask})")
        if self.line_mask:
            shifted = f" >> {self.line_shift}" if self.line_shift else ""
            scaled = f" << {self.line_scale}" if self.line_scale else ""
            terms.append(f"(line{shifted}{scaled} & {self.line_mask})")
        return " ^ ".join(terms)

    def swizzled(self, position: N) -> N:
        """Return the part of the slot that depends only on the position."""
        return position ^ (position >> self.position_shift & self.position_mask)

    def turn(self, line: N) -> N:
        """Return the part of the slot that depends on the line, to be combined by exclusive or."""
        return line >> self.line_shift << self.line_scale & self.line_mask


@frozen
class LdsTile:
    """Tile of `rows` x `depth` elements, with `stages` copies.

    Row j * interleave + i of each `interleave` * `fragment_rows` rows is at position
    i * fragment_rows + j. So each matrix tile has every interleave-th column, and a lane has
    neighbouring columns of the output.
    """

    dtype: DType
    stages: int
    rows: int
    depth: int
    slot_rows: int
    slot_k: int
    #: Number of slots of a line, if it is larger than the number of positions.
    line_slots: int = 0
    interleave: int = 1
    fragment_rows: int = 1
    swizzle: Swizzle = Swizzle()

    @property
    def lines(self) -> int:
        return self.depth // self.slot_k

    @property
    def slots(self) -> int:
        """Number of slots per line: one per position, and a few more if the swizzle needs them."""
        return max(self.line_slots, -(-self.rows // self.slot_rows))

    @property
    def slot(self) -> int:
        """Number of elements of a slot."""
        return self.slot_rows * self.slot_k

    @property
    def array(self) -> str:
        """IR type of all stages."""
        line = f"[{self.slots} x [{self.slot} x {ELEMENT[self.dtype]}]]"
        return f"[{self.stages} x [{self.lines} x {line}]]"

    @property
    def nbytes(self) -> int:
        return self.stages * self.lines * self.slots * WIDEST

    @property
    def interleaved_rows(self) -> int:
        """Number of rows that are permuted among themselves."""
        return self.interleave * self.fragment_rows

    @property
    def is_interleaved(self) -> bool:
        return self.interleave > 1

    def position(self, row: N) -> N:
        if not self.is_interleaved:
            return row // self.slot_rows
        block, rest = row // self.interleaved_rows, row % self.interleaved_rows
        i, j = rest % self.interleave, rest // self.interleave
        return block * self.interleaved_rows + i * self.fragment_rows + j

    def element(self, row: N, k: N) -> N:
        """Return the elements from the stage's start to the element at a row and depth."""
        line, part = k // self.slot_k, row % self.slot_rows * self.slot_k + k % self.slot_k
        slot: N = self.swizzle.swizzled(self.position(row)) ^ self.swizzle.turn(line)
        return (line * self.slots + slot) * self.slot + part

    def address(self, row: N, k: N) -> N:
        """Return the byte address of an element in the tile."""
        return self.element(row, k) * self.dtype.itemsize
