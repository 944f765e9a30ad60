"""Matmul on matrix instructions by two halves of the waves that alternate: the ping-pong main loop.

Each SIMD has a wave of each half. A K-tile is multiplied in phases, each of which moves data, meets
the other half at a barrier, multiplies, and meets it again. The second half passes one barrier more
before the loop, so that it moves data while the first multiplies and the other way round.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import PingPongMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu.plan.matmul.mma import MmaPlan, plan_of
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.base import Target
from kgen_runtime.values import frozen

#: Of a K-tile: one for each group of fragments.
PHASES = 4
#: A wave of each half for each of the four SIMDs of a CU.
WAVES = 8


@frozen
class Phase:
    """What a half moves between two of its products, and the group that it then multiplies."""

    number: int
    #: The operands of which it loads the next K-tile from memory.
    loads: tuple[Staging, ...] = ()
    #: The groups of fragments that it loads from LDS.
    fragments: tuple[int, ...] = ()
    #: It stores the next K-tile to LDS, of which no wave has anything left to load.
    stores: bool = False

    @property
    def line(self) -> str:
        """For the rendered loop."""
        steps = [f"the next tile of {s.name.upper()} from memory" for s in self.loads]
        if self.fragments:
            steps.append(f"fragments {', '.join(map(str, self.fragments))} from LDS")
        if self.stores:
            steps.append("the next tile to LDS")
        return f"phase {self.number}: {', '.join(steps)}; then multiply fragments {self.number}"


@frozen
class PingPongPlan(MmaPlan):
    schedule: PingPongMatmul

    @property
    def second_half(self) -> int:
        """The first wave of the half that is one barrier behind."""
        return self.schedule.num_warps // 2

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The last group is loaded early: in its phase LDS is filled anew."""
        first, second, third, last = range(PHASES)
        return (
            Phase(number=first, loads=(self.a,), fragments=(first,)),
            Phase(number=second, loads=(self.b,), fragments=(second,)),
            Phase(number=third, fragments=(third, last)),
            Phase(number=last, stores=True),
        )

    def check_phases(self) -> None:
        """Raises ScheduleError if the fragments of a K-tile are no group for each phase."""
        block_k = self.schedule.block_k
        if len(self.groups) != PHASES:
            raise ScheduleError(
                f"block_k={block_k} is multiplied in {len(self.groups)} groups of fragments; the "
                f"ping-pong loop has {PHASES} phases, one for each; "
                f"try block_k={block_k // len(self.groups) * PHASES}"
            )

    @property
    def declarations(self) -> tuple[str, ...]:
        priority = ("void @llvm.amdgcn.s.setprio(i16 immarg)",) if self.k_loop.has_loop else ()
        return (*super().declarations, *priority)


def plan(spec: Matmul, target: Target, schedule: PingPongMatmul) -> PingPongPlan:
    """Raises ScheduleError, with a value that fits, if the schedule does not."""
    if schedule.num_stages != 1:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is more than the one LDS tile that the ping-pong "
            "loop fills between its products; try num_stages=1"
        )
    check_waves(schedule)
    made = plan_of(PingPongPlan, "amdgpu/matmul_pingpong.ll.j2", spec, target, schedule)
    made.check_phases()
    return made


def check_waves(schedule: PingPongMatmul) -> None:
    """Raises ScheduleError for waves that are no two halves."""
    if schedule.num_warps != WAVES:
        raise ScheduleError(
            f"warp_m={schedule.warp_m} x warp_n={schedule.warp_n} makes {schedule.num_warps} waves "
            f"of a {schedule.block_m}x{schedule.block_n} block; the ping-pong loop has {WAVES}, a "
            f"wave of each half on every SIMD; try block_m=256,block_n=256,warp_m=128,warp_n=64"
        )
