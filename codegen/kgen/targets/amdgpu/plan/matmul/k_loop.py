"""The walk of a matmul along K, one tile ahead: its steps, and which LDS stage each one fills."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen_runtime.values import frozen

#: One LDS tile, filled while nothing reads it, or two that take turns.
MAX_STAGES = 2


@frozen
class WalkStep:
    """Step of the loop over K: load the next tile, multiply the tile in an LDS stage.

    The step's name is its basic block's. It takes the accumulators and pointers of the step
    `before`, and writes the tile that it loads into stage `fills`.
    """

    name: str
    before: str
    reads: int
    fills: int
    of_loop: bool = False

    @property
    def source(self) -> str | None:
        """The step whose accumulators it adds to; None for zeros."""
        return None if self.before == PROLOGUE else self.before


#: What the prologue's tile is called, and what a loop's first step goes on from.
PROLOGUE, START = "first", "start"


@frozen
class KLoop:
    """The walk along K, one tile ahead: tile i+1 is on its way while tile i is multiplied.

    The prologue loads tile 0. Each of the `steps` that follow loads a whole tile and multiplies the
    one that the step before brought; `tail` does so with the partial tile, if it is not the only
    one, and `last` multiplies the tile loaded last. The loop is unrolled by the stages of LDS, so
    that their addresses are constants; steps beyond a multiple of the stages come before it.
    """

    full: int
    rest: int
    stages: int

    @property
    def first_is_partial(self) -> bool:
        return self.full == 0

    @property
    def steps(self) -> int:
        """Whole tiles behind the first."""
        return max(0, self.full - 1)

    @property
    def trips(self) -> int:
        """Times that the loop runs; without any there is no loop."""
        return self.steps // self.stages

    @property
    def has_loop(self) -> bool:
        return self.trips > 0

    @property
    def has_tail(self) -> bool:
        return self.rest > 0 and self.full > 0

    @property
    def double_buffered(self) -> bool:
        return self.stages > 1

    @property
    def peeled(self) -> tuple[WalkStep, ...]:
        """Before the loop."""
        names = ["peeled"] * (self.steps % self.stages)
        return self._in_turn(names, PROLOGUE, tile=0)

    @property
    def loop(self) -> tuple[WalkStep, ...]:
        """Steps of one trip of the loop."""
        names = ["loop", "loop.second"][: self.stages] if self.has_loop else []
        steps = self._in_turn(names, START, tile=len(self.peeled))
        return tuple(dataclasses.replace(step, of_loop=True) for step in steps)

    @property
    def before_loop(self) -> str:
        return self.peeled[-1].name if self.peeled else PROLOGUE

    @property
    def behind_loop(self) -> tuple[WalkStep, ...]:
        """The tail, if there is one."""
        names = ["tail"] * self.has_tail
        return self._in_turn(names, self._behind_steps, tile=self.steps)

    @property
    def last(self) -> WalkStep:
        """Its tile is the last one: it loads none."""
        before = "tail" if self.has_tail else self._behind_steps
        (step,) = self._in_turn(["last"], before, tile=self.steps + self.has_tail)
        return step

    @property
    def _behind_steps(self) -> str:
        return self.loop[-1].name if self.has_loop else self.before_loop

    def _in_turn(self, names: Sequence[str], before: str, tile: int) -> tuple[WalkStep, ...]:
        """The first of these steps multiplies the tile of this number."""
        return tuple(
            WalkStep(
                name=name,
                before=source,
                reads=number % self.stages,
                fills=(number + 1) % self.stages,
            )
            for number, (name, source) in enumerate(
                zip(names, (before, *names), strict=False), tile
            )
        )

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of all steps, in their order."""
        steps = (*self.peeled, *self.loop, *self.behind_loop, self.last)
        return tuple(step.name for step in steps)


def check_stages(schedule: GpuMatmul) -> None:
    """Raises ScheduleError for more stages than there are."""
    if schedule.num_stages > MAX_STAGES:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is more than {MAX_STAGES}, the limit of "
            f"mainloop={schedule.mainloop}; try num_stages={MAX_STAGES}"
        )


def walked(schedule: GpuMatmul, a: Staging, b: Staging) -> tuple[KLoop, Staging, Staging]:
    """The walk along K, and the operands with the depth of its partial tile.

    Where loads overhang, the last tile is always loaded as a partial one, which does not."""
    full, rest = divmod(a.access.depth, schedule.block_k)
    if rest == 0 and (a.overhangs or b.overhangs):
        full, rest = full - 1, schedule.block_k
    loop = KLoop(full=full, rest=rest, stages=schedule.num_stages)
    a, b = (dataclasses.replace(s, k_rest=rest) for s in (a, b))
    return loop, a, b
