"""K loop of a matmul, which loads one K-tile ahead: its steps, and the LDS stage that each
fills."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen_runtime.values import frozen

#: Most stages: one LDS tile, filled while no thread reads it, or two that alternate.
MAX_STAGES = 2


@frozen
class WalkStep:
    """Step of the loop over K: load the next tile, multiply the tile in an LDS stage.

    The step has the name of its basic block. It continues with the accumulators and pointers of the
    step `before`, and stores the tile that it loads to stage `fills`.
    """

    name: str
    before: str
    reads: int
    fills: int
    of_loop: bool = False

    @property
    def source(self) -> str | None:
        """Name of the step whose accumulators this one continues; None for zeros."""
        return None if self.before == PROLOGUE else self.before


#: Names of the prologue, and of the value from which a loop's first step continues.
PROLOGUE, START = "first", "start"


@frozen
class KLoop:
    """Loop over K that loads K-tile i + 1 while it multiplies K-tile i.

    The prologue loads tile 0. Each of `steps` steps loads a whole tile and multiplies the previous
    one. `tail` loads the partial tile, if it is not the only one. `last` multiplies the tile that
    was loaded last. The loop is unrolled by the stages of LDS, so that their addresses are
    constants; steps beyond a multiple of the stages come before the loop.
    """

    full: int
    rest: int
    stages: int

    @property
    def first_is_partial(self) -> bool:
        return self.full == 0

    @property
    def steps(self) -> int:
        """Number of whole K-tiles after the first."""
        return max(0, self.full - 1)

    @property
    def trips(self) -> int:
        """Trip count of the loop; if it is 0, there is no loop."""
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
        """Steps before the loop."""
        names = ["peeled"] * (self.steps % self.stages)
        return self._in_turn(names, PROLOGUE, tile=0)

    @property
    def loop(self) -> tuple[WalkStep, ...]:
        """Steps of one iteration of the loop."""
        names = ["loop", "loop.second"][: self.stages] if self.has_loop else []
        steps = self._in_turn(names, START, tile=len(self.peeled))
        return tuple(dataclasses.replace(step, of_loop=True) for step in steps)

    @property
    def before_loop(self) -> str:
        return self.peeled[-1].name if self.peeled else PROLOGUE

    @property
    def behind_loop(self) -> tuple[WalkStep, ...]:
        """Steps after the loop: the tail, if there is one."""
        names = ["tail"] * self.has_tail
        return self._in_turn(names, self._behind_steps, tile=self.steps)

    @property
    def last(self) -> WalkStep:
        """Step of the last K-tile, which loads none."""
        before = "tail" if self.has_tail else self._behind_steps
        (step,) = self._in_turn(["last"], before, tile=self.steps + self.has_tail)
        return step

    @property
    def _behind_steps(self) -> str:
        return self.loop[-1].name if self.has_loop else self.before_loop

    def _in_turn(self, names: Sequence[str], before: str, tile: int) -> tuple[WalkStep, ...]:
        """Return steps with these names; the first one multiplies K-tile number `tile`."""
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
        """Names of all steps, in order."""
        steps = (*self.peeled, *self.loop, *self.behind_loop, self.last)
        return tuple(step.name for step in steps)


def check_stages(schedule: GpuMatmul) -> None:
    """Check that the schedule has at most MAX_STAGES stages. Raises ScheduleError."""
    if schedule.num_stages > MAX_STAGES:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is more than {MAX_STAGES}, the limit of "
            f"mainloop={schedule.mainloop}; try num_stages={MAX_STAGES}"
        )


def walked(schedule: GpuMatmul, a: Staging, b: Staging) -> tuple[KLoop, Staging, Staging]:
    """Return the loop over K, and the operands with the depth of the partial K-tile.

    If loads overhang, the last K-tile is always loaded as a partial one, whose loads do not.
    """
    full, rest = divmod(a.access.depth, schedule.block_k)
    if rest == 0 and (a.overhangs or b.overhangs):
        full, rest = full - 1, schedule.block_k
    loop = KLoop(full=full, rest=rest, stages=schedule.num_stages)
    a, b = (dataclasses.replace(s, k_rest=rest) for s in (a, b))
    return loop, a, b
