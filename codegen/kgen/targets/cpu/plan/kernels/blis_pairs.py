"""Products in f32 by a prepacked B of bf16, in pairs; A is of f32, or widened as it is packed.

A pair is a word of 32 bits with the numbers of a column for two neighbouring k. A shift makes an
f32 of its lower half, a mask of its upper one, which costs less than widening two narrow vectors
(1 x 1536 x 576 on Zen 4: 23 us instead of 37).

Multiply-adds of a tile with few sums would wait for each other: each half of the pairs has sums of
its own there, which are added up at the end.
"""

from __future__ import annotations

from kgen.schedule import BlockedMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.checks import check_multiple
from kgen.targets.cpu.plan.kernels.blis import BlisPlan, plan_blis
from kgen.targets.cpu.plan.packing.prepacked import PanelFormat, b_is_packed
from kgen.targets.cpu.plan.tiles.tile import Row, Tile
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.plan.vectors import UPPER_HALF, Vector
from kgen_runtime.values import frozen

PAIR = 2
#: Sums that hide the latency of a multiply-add (4 cycles, two a cycle).
ENOUGH_SUMS = 8


@frozen
class Half:
    """One of a pair: `name` is the end of its names."""

    name: str
    index: int
    before: str
    after: str


@frozen
class PairsPlan(BlisPlan):
    @property
    def has_pairs(self) -> bool:
        return True

    @property
    def b_format(self) -> PanelFormat:
        return PanelFormat(width=self.compute.count, depth=PAIR, k_unit=PAIR)

    @property
    def k_step(self) -> int:
        return PAIR

    @property
    def pairs(self) -> Vector:
        return self.sum_vector.integers

    @property
    def upper(self) -> str:
        """The mask of the upper half."""
        return self.pairs.splat(UPPER_HALF)

    def has_two_sums(self, tile: Tile) -> bool:
        """Each half of the pairs has sums of its own."""
        return has_two_sums(self.target, len(tile.sums), len(tile.columns))

    def halves_of_pair(self, tile: Tile) -> tuple[Half, Half]:
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
        """Bytes from a pair's A to one of its numbers."""
        return row.a + half.index * self.loop.a_k

    @property
    def k_is_odd(self) -> bool:
        """The last pair has a zero past K, where there is no A."""
        return self.spec.k % PAIR != 0


def has_pairs(spec: Matmul) -> bool:
    return spec.b_type is DType.BF16 and b_is_packed(spec)


def has_two_sums(target: Target, sums: int, vectors: int) -> bool:
    """Where there are few, if there is room (1 x 512 x 1024 takes 14 us instead of 20, Zen 4)."""
    # Both halves of a vector at once, and the mask.
    room = target.limits["vector_registers"] - registers_needed(1, vectors) - 1
    return sums < ENOUGH_SUMS and PAIR * sums - vectors <= room


def plan_pairs(spec: Matmul, target: Target, schedule: BlockedMatmul) -> BlisPlan:
    """Raises ScheduleError as plan_blis does, and unless blocks of K are of whole pairs."""
    if schedule.kc < spec.k:
        check_multiple(schedule, "kc", PAIR, "the numbers of a pair of bf16")
    return plan_blis(spec, target, schedule, PairsPlan)
