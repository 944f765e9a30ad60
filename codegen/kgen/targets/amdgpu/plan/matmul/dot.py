"""Matmul on dot products per lane, for RDNA2, which has no matrix cores.

Every lane has a row of each MMA tile of A and a column of each of B, and one accumulator for both.
Tiles have the same layout in LDS as for matrix instructions: slots of consecutive depths. The
products of a slot are many instructions, so a loop processes one line of slots after the other. If
it were unrolled, the fragments of all lines would be loaded at once and exceed the registers.
"""

from __future__ import annotations

from kgen.schedule import MmaMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.plan.matmul.mma import MmaPlan, plan_of
from kgen.targets.base import Target
from kgen_runtime.values import frozen


@frozen
class DotPlan(MmaPlan):
    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Lines of LDS of an iteration of the loop over lines: one."""
        return ((0,),)

    @property
    def lines(self) -> tuple[int, ...]:
        """Lines whose addresses are computed before the main loop: none."""
        return ()

    @property
    def num_lines(self) -> int:
        return self.a.tile.lines

    @property
    def loop_metadata(self) -> dict[str, int]:
        """Metadata number of each step's loop over lines; numbers 0 to 2 are in use."""
        return {step: number for number, step in enumerate(self.k_loop.blocks, 3)}


def is_for(spec: Matmul, target: Target) -> bool:
    """Return whether dot products per lane take the place of matrix instructions."""
    return any(i.by_lane for i in matrix.instructions_of(spec, target))


def plan(spec: Matmul, target: Target, schedule: MmaMatmul) -> DotPlan:
    """Return the plan. Raises ScheduleError, with a value that fits, if the schedule does not."""
    return plan_of(DotPlan, "amdgpu/matmul_dot.ll.j2", spec, target, schedule)
