"""Stream-k of persistent CTAs: the CTA with a block tile's first part adds those of the others.

It adds them in the order of k and stores the block tile. It waits for CTAs of higher numbers only,
so numbers are handed out by a ticket, the highest first: a CTA that is waited for has started,
however many CTAs run at once.
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
    """Shares of CTAs, whose steps are single K-tiles."""

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
    """Plan the shares; None if the schedule does not ask for them. Raises ScheduleError if they
    cannot be."""
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
