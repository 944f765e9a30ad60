"""Stream-k: persistent CTAs share what is left behind full waves of block tiles, tile along k by
tile along k.

CTA number i takes the steps (a tile along k of a block tile) from i * steps / CTAs up to the next
one's; then whole block tiles, one of each wave (M. Osama et al., "Stream-K: Work-centric Parallel
Decomposition for Dense Matrix-Matrix Multiplication on the GPU", PPoPP 2023). Who has a block
tile's first part adds the others' to its own, in the order of k, and stores.

It waits for CTAs of higher numbers only. So numbers are handed out by a ticket, the highest first:
whoever is waited for has started, however many CTAs run at once.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import SplitMatmul, WgmmaMatmul
from kgen.targets.cuda.plan.reduction.partial_sums import WORD_BYTES, PartialSums
from kgen.targets.header import counted
from kgen.targets.raster import Raster
from kgen_runtime.manifest import Launch, Walk, Workspace
from kgen_runtime.values import frozen

#: Products with 32-bit integers of steps and CTAs must not overflow.
MAX_PRODUCT = 1 << 32
PARTS, TICKETS = "parts", "tickets"


@frozen
class StreamK:
    """Distribution of `blocks` block tiles of `k_tiles` steps each over `ctas` CTAs.

    `consumers` is the number of thread groups of a CTA that hold `sums` each: its warpgroups, or 1
    for all of its threads.
    """

    blocks: int
    k_tiles: int
    ctas: int
    consumers: int
    sums: PartialSums

    @property
    def cut_blocks(self) -> int:
        """The first ones, which are shared: what no wave is full of, and a wave, so that no CTA
        has less than a block tile to do where there are enough."""
        return self.blocks - max(0, self.blocks // self.ctas - 1) * self.ctas

    @property
    def steps(self) -> int:
        """K-tiles of the shared block tiles."""
        return self.cut_blocks * self.k_tiles

    @property
    def all_steps(self) -> int:
        return self.blocks * self.k_tiles

    @property
    def wave_steps(self) -> int:
        """Steps from a CTA's whole block tile to its next one."""
        return self.ctas * self.k_tiles

    @property
    def last_cta(self) -> int:
        return self.ctas - 1

    def begin(self, cta: int) -> int:
        """A CTA's first step."""
        return cta * self.steps // self.ctas

    @property
    def flags(self) -> int:
        """Byte offset of the flags, one per warpgroup's part, after the ticket."""
        return WORD_BYTES

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        groups = self.ctas * self.consumers
        return (
            Workspace(name=PARTS, nbytes=groups * self.sums.nbytes),
            Workspace(name=TICKETS, nbytes=self.flags + groups * WORD_BYTES, initial="zero"),
        )

    def launch(self, launch: Launch, raster: Raster) -> Launch:
        """The launch of one CTA per block tile as one of CTAs that share them."""
        walk = Walk(group=raster.group, shared=self.cut_blocks, steps=self.k_tiles)
        names = tuple(workspace.name for workspace in self.workspaces)
        return dataclasses.replace(
            launch,
            grid=(self.ctas, 1, 1),
            arguments=launch.arguments + names,
            tile=dataclasses.replace(raster.tile, walk=walk),
        )

    @property
    def note(self) -> str:
        whole = self.blocks - self.cut_blocks
        unshared = f"; {whole} more have a CTA each" if whole else ""
        return (
            f"stream-k: {self.ctas} CTAs share the {self.steps} K-tiles of "
            f"{counted(self.cut_blocks, 'block tile')}{unshared}"
        )


def plan_stream(
    blocks: int, k_tiles: int, schedule: SplitMatmul | WgmmaMatmul, sums: PartialSums
) -> StreamK | None:
    """None if the schedule does not ask for it. Raises ScheduleError if it cannot be."""
    if not schedule.stream_k:
        return None
    _check(blocks, k_tiles, schedule)
    consumers = schedule.consumers if isinstance(schedule, WgmmaMatmul) else 1
    return StreamK(
        blocks=blocks, k_tiles=k_tiles, ctas=schedule.num_workgroups, consumers=consumers, sums=sums
    )


def _check(blocks: int, k_tiles: int, schedule: SplitMatmul | WgmmaMatmul) -> None:
    if not schedule.num_workgroups:
        raise ScheduleError(
            "stream_k=1 shares K-tiles among persistent CTAs, and num_workgroups is 0; "
            f"try num_workgroups={min(132, blocks * k_tiles)}"
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
    if schedule.num_workgroups > (most := blocks * k_tiles):
        raise ScheduleError(
            f"num_workgroups={schedule.num_workgroups} is more than the {most} K-tiles of all "
            f"block tiles; try num_workgroups={most}"
        )
    if (blocks + schedule.num_workgroups) * k_tiles * schedule.num_workgroups >= MAX_PRODUCT:
        raise ScheduleError(
            f"stream_k=1 with {blocks * k_tiles} K-tiles and "
            f"num_workgroups={schedule.num_workgroups} overflows 32-bit tile numbers; "
            "try stream_k=0,num_workgroups=0,group_m=1"
        )
