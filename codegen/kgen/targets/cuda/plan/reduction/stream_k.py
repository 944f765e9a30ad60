"""Stream-k of persistent CTAs: the CTA with a block tile's first part adds the other parts.

That CTA adds the parts in the order of k and stores the block tile. It waits only for CTAs with
higher numbers. CTAs draw their numbers from a ticket counter, the highest first, so a CTA that
another waits for has always started, however many run at once.
"""

from __future__ import annotations

from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.schedule import SplitMatmul, WgmmaMatmul
from kgen.targets.contraction.partial_sums import WORD_BYTES, PartialSums, sum_workspaces
from kgen.targets.contraction.shared_steps import SharedSteps
from kgen_runtime.manifest import Workspace
from kgen_runtime.values import frozen

TICKETS = "tickets"


@frozen
class StreamK(SharedSteps):
    """Distribution of steps over CTAs; a step is one K-tile."""

    waits: ClassVar[bool] = True
    workgroup: ClassVar[str] = "CTA"
    step: ClassVar[str] = "K-tiles"

    @property
    def flags(self) -> int:
        """Byte offset of the flags, one per part, after the ticket."""
        return WORD_BYTES

    @property
    def workspaces(self) -> tuple[Workspace, Workspace]:
        return sum_workspaces(
            self.workgroups * self.part_bytes, 1 + self.workgroups * self.holders, TICKETS
        )


def plan_stream(
    blocks: int, k_tiles: int, schedule: SplitMatmul | WgmmaMatmul, sums: PartialSums
) -> StreamK | None:
    """Return the distribution; None without stream-k. Raises ScheduleError if the schedule's
    numbers are not legal."""
    if not schedule.stream_k:
        return None
    _check(blocks * k_tiles, schedule)
    stream = StreamK(
        blocks=blocks,
        block_steps=k_tiles,
        workgroups=schedule.num_workgroups,
        holders=schedule.consumers if isinstance(schedule, WgmmaMatmul) else 1,
        sums=sums,
    )
    stream.check("stream_k=1", "stream_k=0,num_workgroups=0,group_m=1")
    return stream


def _check(steps: int, schedule: SplitMatmul | WgmmaMatmul) -> None:
    if not schedule.num_workgroups:
        raise ScheduleError(
            "stream_k=1 shares K-tiles among persistent CTAs, and num_workgroups is 0; "
            f"try num_workgroups={min(132, steps)}"
        )
    if isinstance(schedule, WgmmaMatmul) and (
        schedule.pingpong or schedule.cluster > 1 or schedule.split_k > 1
    ):
        raise ScheduleError(
            "stream_k=1 divides a block tile among single CTAs, which excludes pingpong, clusters "
            "and split-k; try pingpong=0,cluster_m=1,cluster_n=1,split_k=1"
        )
    if schedule.split_k > 1:
        raise ScheduleError(
            f"stream_k=1 shares all of K, and split_k={schedule.split_k} cuts K into slices; "
            "try split_k=1"
        )
