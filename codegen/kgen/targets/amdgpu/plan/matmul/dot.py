"""Matmul on dot products of the lanes (RDNA2, which has no matrix cores): every lane owns a row of
each MMA tile of A and a column of each of B, and one sum for both.

Tiles lie in LDS as for matrix instructions, in slots of consecutive depths. The products of a slot
are many instructions, so a loop takes one line of slots after the other: unrolled, the fragments of
all lines would be loaded at once, and need more registers than there are.
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
        """The line of a trip of the loop over lines."""
        return ((0,),)

    @property
    def lines(self) -> tuple[int, ...]:
        """None whose address is computed ahead of the main loop."""
        return ()

    @property
    def num_lines(self) -> int:
        return self.a.tile.lines

    @property
    def loop_metadata(self) -> dict[str, int]:
        """Metadata number of each step's loop over lines; 0 to 2 are taken."""
        return {step: number for number, step in enumerate(self.k_loop.blocks, 3)}


def is_for(spec: Matmul, target: Target) -> bool:
    """The products that matrix instructions would make are dot products of the lanes."""
    return any(i.by_lane for i in matrix.instructions_of(spec, target))


def plan(spec: Matmul, target: Target, schedule: MmaMatmul) -> DotPlan:
    """Raises ScheduleError, with a value that fits, if the schedule does not."""
    return plan_of(DotPlan, "amdgpu/matmul_dot.ll.j2", spec, target, schedule)
