"""Distribution of scores, weights and results over the lanes of a wave.

The first matrix product has keys as rows of A and queries as columns of B. So a lane holds scores
of one query per MMA tile. The second product has elements of V's head as rows of A and weights as
B. Its k, the keys, may have any order that A and B share. So weights stay in their lanes, and V is
copied to LDS with its keys in the order of the weights.
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.targets.amdgpu.matrix import MatrixInstruction
from kgen_runtime.values import frozen


@frozen
class BitMove:
    """Bits `mask` of a number, moved left by `left` or right by `right` bits."""

    mask: int
    left: int = 0
    right: int = 0


def bit_moves(permutation: Callable[[int], int], size: int) -> tuple[BitMove, ...]:
    """Return the bit moves that make up `permutation`.

    `permutation` reorders the bits of numbers below `size`, a power of two.
    """
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
    """Lanes that hold each query in a wave of `wave` lanes, for one matrix instruction."""

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
        """Return the row of the result D that a register of a lane group holds."""
        i = self.instruction
        return i.register_rows[register] + i.lane_rows * group

    def key(self, depth: int) -> int:
        """Return the key, within a block, whose weight is at a depth of the second product.

        A lane's registers fill its slots in order. Slot s of group g begins at depth
        slot_k * (groups * s + g).
        """
        i = self.instruction
        if i.whole_depth:
            return depth
        slot, element = divmod(depth, i.slot_k)
        slot, group = divmod(slot, self.groups)
        tile, register = divmod(slot * i.slot_k + element, i.registers)
        return tile * i.m + self.row(group, register)

    def element(self, row: int) -> int:
        """Return the head element, within an MMA tile, at a row of A of the second product.

        The order of rows makes the registers of a lane consecutive elements of the result.
        """
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
