"""Matrix instructions that multiply the fragments of a step: their order and accumulators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kgen.schedule import GpuMatmul, PromotedMatmul, PromotedWgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.cuda.plan.mma.fragments import PIECE, Fragments
from kgen_runtime.values import frozen

#: Elements of k in a step of tf32, the only type whose operands are split.
TF32_STEP = 8
ZERO = "zero"


@frozen
class Mma:
    """Registers of one mma.sync, d = a b + c."""

    d: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]
    c: tuple[str, ...]


@frozen
class PromotedSum:
    """Promotion of a reduced-precision sum to an f32 accumulator: `acc` += `part`."""

    acc: str
    part: str


@frozen
class Products:
    """Products of the fragments of A and B.

    Sums are in <into>_m<m>_n<n>. If `promoted`, part_m<m>_n<n> has the sums of a few steps, which
    are then added to them.
    """

    a: Fragments
    b: Fragments
    promoted: bool = False
    into: str = "acc"

    @property
    def rows(self) -> tuple[int, ...]:
        """Distances of the m of a lane's accumulators from its first."""
        pieces = range(0, self.a.extent, PIECE)
        return tuple(m + part for m in pieces for part in self.a.parts)

    @property
    def cols(self) -> tuple[int, ...]:
        """Distances of the n of a lane's accumulators from its first."""
        return tuple(sorted(n for tile in self._tiles for n in self._columns(tile)))

    @property
    def run(self) -> int:
        """Number of adjacent columns among a lane's accumulators."""
        return 2 * self.b.stride

    def _columns(self, tile: int) -> tuple[int, int]:
        return tile, tile + self.b.stride

    @property
    def _tiles(self) -> tuple[int, ...]:
        """First column of each group of eight columns of the products."""
        pieces = range(0, self.b.extent, PIECE)
        return tuple(n + part for n in pieces for part in self.b.parts)

    @property
    def sums(self) -> tuple[str, ...]:
        """Accumulators of a lane, in the order of products; the four of a product are
        consecutive."""
        return tuple(
            f"{self.into}_m{m + i}_n{j}"
            for m in range(0, self.a.extent, PIECE)
            for n in self._tiles
            for i in self.a.parts
            for j in self._columns(n)
        )

    def of_step(self, k: int, *, begins: bool) -> tuple[Mma, ...]:
        """Return the products of step k; `begins`: reduced-precision sums are still empty."""
        instruction = self.a.instruction
        return tuple(
            mma
            for depth in range(0, instruction.step, instruction.depth)
            for m in range(0, self.a.extent, PIECE)
            for n in self._tiles
            for whole in self._pieces(m, n, k + depth)
            for mma in self._all(
                replace(whole, c=(ZERO,) * len(whole.c)) if begins and not depth else whole
            )
        )

    def _pieces(self, m: int, n: int, k: int) -> Iterator[Mma]:
        """Yield the product of two fragments: one instruction of 16 rows, or two of 8.

        Layouts: PTX ISA, "Matrix Fragments for mma.m16n8k16" and its neighbours.
        """
        instruction, parts = self.a.instruction, self.a.parts
        halves = range(k, k + instruction.depth, instruction.half)
        b = tuple(self.b.register(n, half) for half in halves)
        sums = "part" if self.promoted else self.into
        for rows in (parts,) if instruction.rows == PIECE else ((part,) for part in parts):
            d = tuple(f"{sums}_m{m + i}_n{j}" for i in rows for j in self._columns(n))
            a = tuple(self.a.register(m + i, half) for half in halves for i in rows)
            yield Mma(d=d, a=a, b=b, c=d)

    def _all(self, whole: Mma) -> tuple[Mma, ...]:
        """Return the instructions of a product; if operands are split, the small products come
        first."""
        if not self.a.instruction.splits:
            return (whole,)
        a_rest, b_rest = tuple(map(rest_of, whole.a)), tuple(map(rest_of, whole.b))
        return (replace(whole, a=a_rest), replace(whole, b=b_rest), whole)

    @property
    def promotions(self) -> tuple[PromotedSum, ...]:
        places = [f"m{m}_n{n}" for m in self.rows for n in self.cols] if self.promoted else ()
        return tuple(PromotedSum(acc=f"acc_{place}", part=f"part_{place}") for place in places)


def rest_of(register: str) -> str:
    """Return the register for the rounding error of a fragment's register; all steps share it."""
    name, _, k = register.rpartition("_k")
    return f"{name}_rest{int(k) % TF32_STEP}"


def promotion(spec: Matmul, schedule: GpuMatmul) -> int:
    """Return the depth of k after which reduced-precision sums are added to f32 sums; 0 if k ends
    before."""
    if not isinstance(schedule, PromotedMatmul | PromotedWgmmaMatmul):
        return 0
    return schedule.promote_k if schedule.promote_k < spec.k else 0
