"""The plan of matmul_inner.ll.j2: inner products, where K lies side by side in both A and B.

Vectors go along K, so nothing is packed or transposed; each sum of products is a vector, whose
elements are added up at the end. It suits a product of a few rows (or columns), which takes as long
as reading the other operand does.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import InnerMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.limits import BF16_FEATURES
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.blocks import (
    check_multiple,
    check_stack,
    matmul_launch,
)
from kgen.targets.cpu.plan.tile import Tile, tile
from kgen.targets.cpu.plan.tiled import TiledPlan, registers_needed
from kgen.targets.cpu.plan.vectors import Access, Vector

#: bf16 in 64 bytes.
RUN = 32
#: Registers that elements pass through between memory and multiply-adds, where they are widened.
WIDENING_REGISTERS = 4


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A vector of K, `at` elements from the step's or the row's first; `valid` is 0 for a whole
    one, else how many of its elements there are."""

    name: str
    at: int
    valid: int


@dataclass(frozen=True, kw_only=True)
class InnerPlan(TiledPlan):
    schedule: InnerMatmul
    #: A vector of K of A or B, as it lies in memory and as it is multiplied.
    along: Access
    #: Sums of a tile.
    sums: Vector

    @property
    def pairs(self) -> bool:
        """Two bf16 for each f32 sum, by VDPBF16PS; else the elements are widened."""
        return self.along.compute.count > self.sums.count

    @property
    def features(self) -> tuple[str, ...]:
        features = super().features
        return tuple(sorted({*features, *BF16_FEATURES})) if self.pairs else features

    @property
    def is_direct(self) -> bool:
        return False

    @property
    def scratch_bytes(self) -> int:
        return self.acc_bytes

    @property
    def streams_b(self) -> bool:
        """The tiles fetch what follows by themselves."""
        return False

    @property
    def b_next(self) -> int:
        """Bytes in B from a tile's columns to the next tile's."""
        return self.schedule.nr * self.b_strides[2]

    @property
    def acc_row(self) -> int:
        """Whole vectors of the epilogue."""
        return -(-self.schedule.nc // self.compute.count) * self.vector_bytes

    # -- K ------------------------------------------------------------------------------------

    @property
    def k_vector(self) -> int:
        """K of a vector."""
        return self.along.compute.count

    @property
    def k_step(self) -> int:
        return self.k_vector * self.schedule.unroll

    @property
    def k_whole(self) -> int:
        """K of a block in whole steps."""
        return self.schedule.kc - self.schedule.kc % self.k_step

    @property
    def k_steps(self) -> str:
        return str(self.k_whole)

    @property
    def chains(self) -> tuple[Chain, ...]:
        """A step's vectors; each adds to a sum of its own."""
        return tuple(
            Chain(name=f"k{u}", at=u * self.k_vector, valid=0) for u in range(self.schedule.unroll)
        )

    @property
    def rest(self) -> tuple[Chain, ...]:
        """What is left of K after whole steps."""
        left = self.schedule.kc - self.k_whole
        return tuple(
            Chain(
                name=chain.name,
                at=self.k_whole + chain.at,
                valid=0 if chain.at + self.k_vector <= left else left - chain.at,
            )
            for chain in self.chains
            if chain.at < left
        )

    @property
    def a_m(self) -> int:
        return self.a_strides[1]

    @property
    def a_k(self) -> int:
        return self.a_strides[2]

    @property
    def b_row(self) -> int:
        return self.b_strides[1]

    @property
    def pairs_type(self) -> Vector:
        return self.along.compute.of("bfloat")

    # -- register tiles ------------------------------------------------------------------------

    def _tile(self, rows: int, width: int) -> Tile:
        """Each column by itself; the sums go to the block of sums, one element each."""
        return tile(
            rows,
            width,
            count=1,
            a_stride=self.a_m,
            b_step=self.b_strides[2],
            out_strides=(self.acc_row, self.accumulator_bytes),
        )

    def sum_names(self, tile: Tile) -> tuple[str, ...]:
        """Of all chains."""
        return tuple(f"{name}_{chain.name}" for name in tile.sum_names for chain in self.chains)

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.spec.k % self.k_vector > 1:
            types = types | {self.along.stored}
        return tuple(sorted(types, key=str))


def is_inner(spec: Matmul) -> bool:
    """K lies side by side in A, and in B as it is given."""
    return not spec.constant and spec.a_strides[2] == 1 and spec.b_strides[1] == 1


def vector_along(spec: Matmul, target: Target) -> tuple[Access, Vector]:
    """How vectors of K are read, and the vector of sums that they are multiplied into."""
    if spec.dtype is DType.BF16 and target.has("avx512_bf16"):
        run = Access(dtype=DType.BF16, compute=Vector(count=RUN, scalar="float"))
        return run, Vector(count=RUN // 2, scalar="float")
    sums = vector_for(target, spec.accumulate, spec.k)
    return Access(dtype=spec.dtype, compute=sums), sums


def plan_inner(spec: Matmul, target: Target, schedule: InnerMatmul) -> InnerPlan:
    """Raises ScheduleError if the schedule does not fit operands, registers or stack."""
    if not is_inner(spec):
        raise ScheduleError(
            f"an inner schedule takes A and B whose k lies side by side, not {spec.key}; "
            "take layout nt and no constant"
        )
    along, sums = vector_along(spec, target)
    step = along.compute.count * schedule.unroll
    blocks = spec.k % schedule.kc == 0 and schedule.kc % step == 0
    if schedule.pack_a or schedule.pack_b or not (schedule.kc == spec.k or blocks):
        raise ScheduleError(
            f"pack_a={schedule.pack_a:d}, pack_b={schedule.pack_b:d}, kc={schedule.kc}: inner "
            f"products pack nothing and take all of k, or equal blocks of whole steps of {step}; "
            f"try pack_a=0, pack_b=0, kc={spec.k}"
        )
    compute = vector_for(target, spec.accumulate, spec.n)
    plan = InnerPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_inner.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=compute,
        out=Access(dtype=spec.out, compute=compute),
        along=along,
        sums=sums,
    )
    if plan.blocks_n > 1:
        check_multiple(schedule, "nc", compute.count, "as several blocks of columns need")
    needed = tile_registers(spec, target, schedule.mr, schedule.nr, schedule.unroll)
    limit = target.limits["vector_registers"]
    if needed > limit:
        raise ScheduleError(
            f"mr={schedule.mr} with nr={schedule.nr} and unroll={schedule.unroll} needs {needed} "
            f"vector registers; {target.name} has {limit}; try mr=1, nr=2, unroll=4"
        )
    check_stack(target, plan.scratch_bytes)
    return plan


def tile_registers(spec: Matmul, target: Target, rows: int, columns: int, unroll: int) -> int:
    """Of a tile: what there is less of, rows or columns, is held while the others go by. Widening
    takes some more, which LLVM would otherwise find by spilling."""
    along, sums = vector_along(spec, target)
    needed = registers_needed(max(rows, columns), min(rows, columns))
    needed += (unroll - 1) * rows * columns
    widened = not along.is_wide and along.compute == sums
    return needed + WIDENING_REGISTERS + unroll - 1 if widened else needed
