"""The order in which workgroups take the block tiles of the output."""

from __future__ import annotations

from kgen_runtime.manifest import Tile, Walk
from kgen_runtime.values import frozen


@frozen
class Raster:
    """`rows` x `cols` block tiles of each of `batch` matrices; a tile is a cluster's.

    `group` rows are walked column by column, so that the workgroups that run at once share what
    they read of A and of B in L2. Of `dies` with an L2 of their own, which workgroups go round,
    each gets neighbours.
    """

    shape: tuple[int, int, int]
    extent: tuple[int, int, int]
    group: int
    dies: int = 1

    @property
    def batch(self) -> int:
        return self.shape[0]

    @property
    def rows(self) -> int:
        return -(-self.shape[1] // self.extent[1])

    @property
    def cols(self) -> int:
        return -(-self.shape[2] // self.extent[2])

    @property
    def per_matrix(self) -> int:
        return self.rows * self.cols

    @property
    def total(self) -> int:
        return self.batch * self.per_matrix

    @property
    def per_group(self) -> int:
        return self.group * self.cols

    @property
    def ragged(self) -> bool:
        """Whether the last group has fewer rows."""
        return self.rows % self.group != 0

    @property
    def tile(self) -> Tile:
        return Tile(
            shape=self.shape,
            extent=self.extent,
            axes=(0, 0, 0),
            walk=Walk(group=self.group, dies=self.dies),
        )
