"""Rasterisation: the order in which workgroups take the block tiles of the output."""

from __future__ import annotations

from kgen_runtime.manifest import Tile, Walk
from kgen_runtime.values import frozen


@frozen
class Raster:
    """Order of the block tiles of `extent` in an output of `shape`: matrices, rows and columns.

    A group of `group` rows of block tiles is walked column by column, so that workgroups that run
    at the same time read the same parts of A and B from L2. Hardware distributes workgroups in turn
    among `dies`, each with its own L2; the workgroups of one die get neighbouring block tiles. The
    block tile of a cluster is the tile that all of its workgroups compute together.
    """

    shape: tuple[int, int, int]
    extent: tuple[int, int, int]
    group: int = 1
    dies: int = 1

    @property
    def batch(self) -> int:
        return self.shape[0]

    @property
    def is_batched(self) -> bool:
        return self.batch > 1

    @property
    def has_dies(self) -> bool:
        return self.dies > 1

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
    def by_coordinates(self) -> Tile:
        """Block tiles that workgroups take by their coordinates: n = x, m = y, matrix = z."""
        return Tile(shape=self.shape, extent=self.extent, axes=(2, 1, 0))

    @property
    def by_number(self) -> Tile:
        """Block tiles that workgroups take by their number, in this order."""
        return Tile(
            shape=self.shape,
            extent=self.extent,
            axes=(0, 0, 0),
            walk=Walk(group=self.group, dies=self.dies),
        )
