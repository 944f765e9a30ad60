"""Stream-k and split-k: workgroups share the steps along K of block tiles.

A step is one K-tile of a block tile, or a few. Workgroup i takes the steps from
i * steps / workgroups up to those of workgroup i + 1, then whole block tiles, one of each wave of
workgroups (M. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
Multiplication on the GPU", PPoPP 2023). Split-k is the case of as many workgroups for each block
tile as it has slices. Each family adds the partial sums in its own way.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.targets.contraction.grid import numbered
from kgen.targets.contraction.partial_sums import PartialSums
from kgen.targets.contraction.raster import Raster
from kgen.targets.header import counted
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: Products of 32-bit numbers of steps and workgroups must stay below this.
MAX_PRODUCT = 1 << 32


@frozen
class SharedSteps:
    """Distribution of `blocks` block tiles of `block_steps` steps each over `workgroups`.

    In a workgroup `holders` groups of threads (its waves, its warpgroups, or all threads as one)
    hold `sums` each.
    """

    #: Whether a workgroup waits for the partial sums of others. Then a workgroup has at least as
    #: many steps as a block tile, if there are enough.
    waits: ClassVar[bool]
    #: Names of a workgroup and of steps, for comments and messages.
    workgroup: ClassVar[str]
    step: ClassVar[str]

    blocks: int
    block_steps: int
    workgroups: int
    holders: int
    sums: PartialSums

    @property
    def cut_blocks(self) -> int:
        """Block tiles, the first ones, that are shared."""
        return cut_blocks(self.blocks, self.workgroups, self.waits)

    @property
    def steps(self) -> int:
        """Steps of the shared block tiles."""
        return self.cut_blocks * self.block_steps

    @property
    def all_steps(self) -> int:
        return self.blocks * self.block_steps

    @property
    def has_whole(self) -> bool:
        """Whether whole block tiles follow the shared ones."""
        return self.cut_blocks < self.blocks

    @property
    def wave_steps(self) -> int:
        """Steps from a workgroup's whole block tile to its next one."""
        return self.workgroups * self.block_steps

    @property
    def last_workgroup(self) -> int:
        """Number of the last workgroup; the addend that rounds a quotient by `workgroups` up."""
        return self.workgroups - 1

    def begin(self, number: int) -> int:
        """First step of workgroup `number`."""
        return number * self.steps // self.workgroups

    @property
    def part_bytes(self) -> int:
        """Bytes of a workgroup's partial sums of one block tile."""
        return self.holders * self.sums.nbytes

    @property
    def workspaces(self) -> tuple[Workspace, Workspace]:
        raise NotImplementedError

    def launch(self, launch: Launch, raster: Raster) -> Launch:
        """Launch of these workgroups, from the launch of one workgroup per block tile."""
        launch = numbered(launch, raster, self.workgroups)
        assert launch.tile is not None and launch.tile.walk is not None
        walk = dataclasses.replace(
            launch.tile.walk, shared=self.cut_blocks, steps=self.block_steps, drawn=self.waits
        )
        return dataclasses.replace(
            launch,
            arguments=(*launch.arguments, *(w.name for w in self.workspaces)),
            tile=dataclasses.replace(launch.tile, walk=walk),
        )

    @property
    def note(self) -> str:
        whole = self.blocks - self.cut_blocks
        unshared = f"; {whole} more have a {self.workgroup} each" if whole else ""
        return (
            f"stream-k: {self.workgroups} {self.workgroup}s share the {self.steps} {self.step} of "
            f"{counted(self.cut_blocks, 'block tile')}{unshared}"
        )

    def check(self, asked: str, remedy: str) -> None:
        """Raise ScheduleError for more workgroups than steps, or for steps beyond 32 bits.

        `asked` is the field of the schedule that shares steps, and `remedy` turns it off.
        """
        if self.workgroups > self.all_steps:
            raise ScheduleError(
                f"num_workgroups={self.workgroups} is more than the {self.all_steps} {self.step} "
                f"of all block tiles; try num_workgroups={self.all_steps}"
            )
        if not fits_32_bits(self.blocks, self.block_steps, self.workgroups):
            raise ScheduleError(
                f"{asked} with {self.all_steps} {self.step} and {self.workgroups} "
                f"{self.workgroup}s overflows 32-bit step numbers; try {remedy}"
            )


def cut_blocks(blocks: int, workgroups: int, waits: bool) -> int:
    """Block tiles that are shared: the remainder that fills no wave of workgroups, or one wave.

    If workgroups wait for one another, a wave is shared beside the remainder, so that no workgroup
    has a small part; else the fewer are shared, the fewer sums are stored.
    """
    remainder = blocks % workgroups
    if not remainder or (waits and blocks > workgroups):
        return min(blocks, remainder + workgroups)
    return remainder


def fits_32_bits(blocks: int, block_steps: int, workgroups: int) -> bool:
    """Whether a kernel can compute its first step and those of its neighbours in 32 bits."""
    return (blocks + workgroups + 1) * block_steps * (workgroups + 1) < MAX_PRODUCT
