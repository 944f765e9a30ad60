"""Products in f32 by a prepacked B of bf16, in pairs; A is of f32, or widened as it is packed.

A pair is a word of 32 bits with the numbers of a column for two neighbouring k. A shift makes an
f32 of its lower half, a mask of its upper one, which costs less than widening two narrow vectors.

Multiply-adds of a tile with few sums would wait for each other. There, each half of the pairs has
sums of its own, which are added up at the end.
"""

from __future__ import annotations

from kgen.spec import DType, Matmul
from kgen.targets.cpu.plan.packing.prepacked import b_is_packed
from kgen.targets.cpu.plan.tiles.tile import RegisterTile, Row
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen

PAIR = 2


@frozen
class Half:
    """Half of a pair; `name` is the suffix of its names."""

    name: str
    index: int
    before: str
    after: str


@frozen
class Pairs:
    """Pairs of bf16 along K, in words of the size of `sums`, on a target with so many vector
    `registers`.

    `k` is the depth of the product, `a_k` the bytes of A from one k to the next. Tiles of fewer
    sums than `apart_below` keep those of both halves apart if they fit.
    """

    sums: Vector
    registers: int
    apart_below: int
    k: int
    a_k: int

    @property
    def words(self) -> Vector:
        return self.sums.integers

    def has_two_sums(self, tile: RegisterTile) -> bool:
        """Return whether each half of the pairs has sums of its own."""
        sums, vectors = len(tile.sums), len(tile.columns)
        # Both halves of a vector at once, and the mask.
        room = self.registers - registers_needed(1, vectors) - 1
        return sums < self.apart_below and PAIR * sums - vectors <= room

    def halves(self, tile: RegisterTile) -> tuple[Half, Half]:
        if self.has_two_sums(tile):
            return (
                Half(name="_k0", index=0, before=".k0", after=".k0.next"),
                Half(name="_k1", index=1, before=".k1", after=".k1.next"),
            )
        return (
            Half(name="_k0", index=0, before="", after=".k0"),
            Half(name="_k1", index=1, before=".k0", after=".next"),
        )

    def a_at(self, row: Row, half: Half) -> int:
        """Return the bytes from a pair's A to one of its numbers."""
        return row.a + half.index * self.a_k

    @property
    def k_is_odd(self) -> bool:
        """Whether the last pair has a zero past K, where there is no A."""
        return self.k % PAIR != 0


def has_pairs(spec: Matmul) -> bool:
    """Return whether B is prepacked in pairs of bf16."""
    return spec.b_type is DType.BF16 and b_is_packed(spec)
