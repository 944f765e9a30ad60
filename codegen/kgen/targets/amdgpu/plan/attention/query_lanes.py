"""Distribution of scores, weights and results over the lanes of a wave.

A matrix instruction multiplies keys as rows of A with queries as columns of B. So a lane has scores
of one query of each MMA tile. The same lane must have that query's weights as B of the product with
V, where A's rows are elements of the head. Both operands may be permuted along k, so a lane's
weights stay where they are, and V is copied to LDS with its keys in their order.
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.targets.amdgpu.matrix import MatrixInstruction
from kgen_runtime.values import frozen


@frozen
class BitMove:
    """Bits of a number that move to the left (by `left`) or to the right (by `right`)."""

    mask: int
    left: int = 0
    right: int = 0


def bit_moves(permutation: Callable[[int], int], size: int) -> tuple[BitMove, ...]:
    """Return the moves of a permutation of bits on numbers below `size`, a power of two."""
    masks: dict[int, int] = {}
    for bit in range(size.bit_length() - 1):
        moved = permutation(1 << bit).bit_length() - 1
        masks[moved - bit] = masks.get(moved - bit, 0) | 1 << bit
    return tuple(
        BitMove(mask=mask, left=max(0, by), right=max(0, -by))
        for by, mask in sorted(masks.items(), key=lambda item: abs(item[0]))
    )


@frozen
class QueryLanes:
    """QueryLanes of waves of `wave`, with the registers of one matrix instruction."""

    instruction: MatrixInstruction
    wave: int

    @property
    def groups(self) -> int:
        """Number of lanes with the same query."""
        return self.wave // self.instruction.n

    @property
    def distances(self) -> tuple[int, ...]:
        """Distances of a butterfly over the lanes with the same query."""
        count = self.groups.bit_length() - 1
        return tuple(self.instruction.n << step for step in range(count))

    def row(self, group: int, register: int) -> int:
        """Return the row of D in a lane's register."""
        i = self.instruction
        return i.register_rows[register] + i.lane_rows * group

    def key(self, depth: int) -> int:
        """Return the key whose weight is at a depth of the second product, within a block.

        A lane's registers fill its slots in order; slot s of group g has the depths from
        slot_k (groups s + g) on.
        """
        i = self.instruction
        if i.whole_depth:
            return depth
        slot, element = divmod(depth, i.slot_k)
        slot, group = divmod(slot, self.groups)
        tile, register = divmod(slot * i.slot_k + element, i.registers)
        return tile * i.m + self.row(group, register)

    def element(self, row: int) -> int:
        """Return the element of the head at a row of A of the second product, within an MMA tile:
        a lane's registers are neighbouring elements."""
        i = self.instruction
        group, register = next(
            (group, register)
            for group in range(self.groups)
            for register in range(i.registers)
            if self.row(group, register) == row
        )
        return group * i.registers + register

    @property
    def element_moves(self) -> tuple[BitMove, ...]:
        return bit_moves(self.element, self.instruction.m)

    def key_moves(self, keys: int) -> tuple[BitMove, ...]:
        return bit_moves(self.key, keys)
