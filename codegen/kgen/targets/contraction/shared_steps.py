"""Stream-k and split-k: workgroups share the steps along K of block tiles.

A step is one or a few K-tiles of a block tile. Workgroup i of n computes the steps from
i * steps / n up to the first step of workgroup i + 1, then one whole block tile of each further
wave (M. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
Multiplication on the GPU", PPoPP 2023). Split-k is the case in which each block tile has a whole
number of workgroups, one for each slice of K. Each family adds the partial sums in its own way.
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

#: Products of step numbers and workgroup numbers must stay below 2^32.
MAX_PRODUCT = 1 << 32


@frozen
class SharedSteps:
    """Distribution of `blocks` block tiles of `block_steps` steps each over `workgroups`.

    A workgroup has `holders` groups of threads (waves, warpgroups, or one group of all threads),
    each of which holds `sums`.
    """

    #: Whether a workgroup waits for the partial sums of others. If so, each workgroup gets at least
    #: the steps of one block tile, if there are enough block tiles.
    waits: ClassVar[bool]
    #: The family's words for a workgroup and for steps, in comments and messages.
    workgroup: ClassVar[str]
    step: ClassVar[str]

    blocks: int
    block_steps: int
    workgroups: int
    holders: int
    sums: PartialSums

    @property
    def cut_blocks(self) -> int:
        """Number of shared block tiles, which are the first ones."""
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
        """Return the first step of workgroup `number`."""
        return number * self.steps // self.workgroups

    @property
    def part_bytes(self) -> int:
        """Bytes of a workgroup's partial sums of one block tile."""
        return self.holders * self.sums.nbytes

    @property
    def workspaces(self) -> tuple[Workspace, Workspace]:
        raise NotImplementedError

    def launch(self, launch: Launch, raster: Raster) -> Launch:
        """Return the launch of these workgroups, given that of one workgroup per block tile."""
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

        `asked` is the schedule field that turns sharing on; `remedy` is a value that turns it off.
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
    """Return the number of shared block tiles: those that fill no whole wave, or a wave more.

    If workgroups wait for one another, one wave is shared too, so that no workgroup has a small
    part. Otherwise only the remainder is shared, which stores the fewest partial sums.
    """
    remainder = blocks % workgroups
    if not remainder or (waits and blocks > workgroups):
        return min(blocks, remainder + workgroups)
    return remainder


def fits_32_bits(blocks: int, block_steps: int, workgroups: int) -> bool:
    """Return whether 32 bits hold the first steps of all workgroups and their intermediates."""
    return (blocks + workgroups + 1) * block_steps * (workgroups + 1) < MAX_PRODUCT
