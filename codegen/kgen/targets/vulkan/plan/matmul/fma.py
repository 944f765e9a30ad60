"""Matmul by multiply-adds: K-tiles in workgroup memory, thread_m x thread_n sums per invocation.

The block tile advances over K in K-tiles of block_k. While invocations multiply one K-tile, their
loads of the next one are in flight. They store it to workgroup memory as f32, one row per k: to the
other stage if num_stages is 2, else to the only one. The remainder of K is a shorter K-tile after
the loop.
"""

from __future__ import annotations

from kgen.schedule import FmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen.targets.powers_of_two import check_powers_of_two
from kgen.targets.vulkan.plan.checks import check_shared, check_stages
from kgen.targets.vulkan.plan.matmul.matmul_plan import (
    MatmulPlan,
    check_grid,
    check_thread_tiles,
    common_fields,
    sides_of,
)
from kgen.targets.vulkan.plan.matmul.matrix import plan_matrix
from kgen.targets.vulkan.plan.matmul.outputs import SumGroup, ThreadOutputs
from kgen.targets.vulkan.plan.matmul.staging import StagedOperand
from kgen_runtime.values import frozen


@frozen
class FmaPhase:
    """Phase of K-tiles with the same number of k steps.

    An accumulator is `<name>_sum_<m>_<n>` before a k step and `<name>_total_<m>_<n>` after it.
    `before` is the prefix of the initial accumulators, None if they are 0. `stage` is the id of the
    stage that is read.
    """

    name: str
    steps: int
    k_tiles: int
    before: str | None
    stage: str


@frozen
class FmaPlan(MatmulPlan):
    schedule: FmaMatmul
    a: StagedOperand
    b: StagedOperand

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.k_note, self.invocations_note)

    @property
    def double_buffered(self) -> bool:
        return self.schedule.num_stages > 1

    @property
    def main(self) -> FmaPhase | None:
        """Loop over whole K-tiles; None if K has none."""
        k_tiles = self.spec.k // self.schedule.block_k
        if k_tiles == 0:
            return None
        stage = "main_stage" if self.double_buffered else "uint_0"
        return FmaPhase(
            name="main", steps=self.schedule.block_k, k_tiles=k_tiles, before="acc", stage=stage
        )

    @property
    def last_k_tile(self) -> int:
        return self.spec.k // self.schedule.block_k - 1

    @property
    def next_stage(self) -> str:
        """Id of the stage of the next K-tile."""
        return "main_next_stage" if self.double_buffered else "uint_0"

    @property
    def tail(self) -> FmaPhase | None:
        """Partial K-tile; None if there is none."""
        steps = self.spec.k % self.schedule.block_k
        if steps == 0:
            return None
        before = "main_total" if self.main else None
        return FmaPhase(name="tail", steps=steps, k_tiles=1, before=before, stage="uint_0")

    def initial(self, phase: FmaPhase, sum: SumGroup) -> str:
        """Return the id of an initial accumulator of a phase."""
        return f"{phase.before}_{sum.name}" if phase.before else self.outputs.zero

    @property
    def totals(self) -> str:
        """Prefix of the ids of the final accumulators."""
        return "tail_total" if self.tail else "main_total"


def plan_fma(spec: Matmul, target: Target, schedule: FmaMatmul) -> FmaPlan:
    """Return the plan. Raises ScheduleError if the schedule does not fit the target."""
    _check(spec, target, schedule)
    a, b = (
        _operand(spec, target, schedule, access, side)
        for access, side in zip(access_maps(spec), sides_of(spec, schedule), strict=True)
    )
    fields = common_fields(spec, target, schedule, (a, b))
    plan = FmaPlan(template="spirv/matmul_fma.spvasm.j2", shared=(a.shared, b.shared), **fields)
    check_shared(plan, "block_k")
    return plan


def _operand(
    spec: Matmul, target: Target, schedule: FmaMatmul, access: AccessMap, side: ThreadOutputs
) -> StagedOperand:
    # The widest access that leaves one for each invocation.
    each = side.block * schedule.block_k // schedule.num_threads
    contiguous = schedule.block_k if access.inner == "k" else side.block
    return StagedOperand(
        matrix=plan_matrix(spec, target, access, min(contiguous, max(each, 1))),
        side=side,
        block_k=schedule.block_k,
        num_threads=schedule.num_threads,
        stages=schedule.num_stages,
    )


def _check(spec: Matmul, target: Target, schedule: FmaMatmul) -> None:
    check_powers_of_two(schedule, "block_m", "block_n", "block_k", "thread_m", "thread_n")
    check_stages(schedule)
    check_thread_tiles(schedule, target)
    check_grid(spec, target, schedule)
