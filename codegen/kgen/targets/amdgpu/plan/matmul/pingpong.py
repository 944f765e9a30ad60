"""Ping-pong main loop: two halves of the waves alternate between moving data and multiplying.

Each SIMD has a wave of each half. A K-tile is multiplied in phases. In each phase, a wave moves
data, waits at a barrier for the other half, multiplies, and waits again. The second half passes one
more barrier before the loop, so that one half moves data while the other multiplies.
"""

from __future__ import annotations

from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.schedule import PingPongMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu.plan.matmul.mma import MmaPlan, Slice, plan_of
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.base import Target
from kgen_runtime.values import frozen

#: Phases of a K-tile: one for each slice of its products.
PHASES = 4
#: Waves of a workgroup: one of each half for each of the four SIMDs of a CU.
WAVES = 8


@frozen
class PingPongPhase:
    """Phase of a half between two of its products: its loads and stores, and the slice that is
    multiplied next."""

    slice: Slice
    #: Operands whose next K-tile the phase loads from memory.
    loads: tuple[Staging, ...] = ()
    #: Slices whose fragments the phase loads from LDS.
    fragments: tuple[Slice, ...] = ()
    #: Whether the phase stores the next K-tile to LDS, from which all waves have finished loading.
    stores: bool = False

    @property
    def line(self) -> str:
        """Comment of the rendered loop."""
        steps = [f"the next tile of {s.name.upper()} from memory" for s in self.loads]
        if self.fragments:
            numbers = ", ".join(str(each.number) for each in self.fragments)
            steps.append(f"fragments {numbers} from LDS")
        if self.stores:
            steps.append("the next tile to LDS")
        number = self.slice.number
        return f"phase {number}: {', '.join(steps)}; then multiply fragments {number}"


@frozen
class PingPongPlan(MmaPlan):
    takes_guards: ClassVar[bool] = False

    schedule: PingPongMatmul

    @property
    def second_half(self) -> int:
        """First wave of the half that is one barrier behind."""
        return self.schedule.num_warps // 2

    @property
    def slices(self) -> tuple[Slice, ...]:
        """Slices of a K-tile: a group of fragments each, or half of a group's rows if fragments
        take two slots."""
        parts = self.slices_of_group
        rows = self.tiles_m // parts
        return tuple(
            Slice(
                number=number,
                group=number // parts,
                rows=range(number % parts * rows, (number % parts + 1) * rows),
                columns=range(0 if number % parts else self.tiles_n),
            )
            for number in range(parts * len(self.groups))
        )

    @property
    def slices_of_group(self) -> int:
        return 2 if self.joined else 1

    @property
    def phases(self) -> tuple[PingPongPhase, ...]:
        """Phases of a K-tile. The last fragments are loaded early, because their own phase
        overwrites LDS."""
        first, second, third, last = self.slices
        return (
            PingPongPhase(slice=first, loads=(self.a,), fragments=(first,)),
            PingPongPhase(slice=second, loads=(self.b,), fragments=(second,)),
            PingPongPhase(slice=third, fragments=(third, last)),
            PingPongPhase(slice=last, stores=True),
        )

    def check_phases(self) -> None:
        """Check that a K-tile has one slice for each phase. Raises ScheduleError."""
        block_k, parts = self.schedule.block_k, self.slices_of_group
        if (slices := parts * len(self.groups)) != PHASES:
            raise ScheduleError(
                f"block_k={block_k} gives {slices} slices of {self.instruction.name}; the "
                f"ping-pong loop multiplies {PHASES}, one in each phase; "
                f"try block_k={block_k * PHASES // slices}"
            )
        if self.tiles_m % parts:
            raise ScheduleError(
                f"warp_m={self.schedule.warp_m} does not divide into {parts} slices of "
                f"{self.instruction.name}; try warp_m={2 * self.schedule.warp_m}"
            )

    @property
    def declarations(self) -> tuple[str, ...]:
        priority = ("void @llvm.amdgcn.s.setprio(i16 immarg)",) if self.k_loop.has_loop else ()
        return (*super().declarations, *priority)


def plan(spec: Matmul, target: Target, schedule: PingPongMatmul) -> PingPongPlan:
    """Return the plan. Raises ScheduleError, with a value that fits, if the schedule does not."""
    if schedule.num_stages != 1:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not 1; the ping-pong loop fills a single LDS "
            "buffer between its phases; try num_stages=1"
        )
    check_waves(schedule)
    made = plan_of(PingPongPlan, "amdgpu/matmul_pingpong.ll.j2", spec, target, schedule)
    made.check_phases()
    return made


def check_waves(schedule: PingPongMatmul) -> None:
    """Check that a workgroup has two halves of waves. Raises ScheduleError."""
    if schedule.num_warps != WAVES:
        raise ScheduleError(
            f"warp_m={schedule.warp_m} x warp_n={schedule.warp_n} gives {schedule.num_warps} waves "
            f"in a block tile of {schedule.block_m}x{schedule.block_n}; the ping-pong loop needs "
            f"{WAVES}, two on each SIMD; try block_m=256,block_n=256,warp_m=128,warp_n=64"
        )
