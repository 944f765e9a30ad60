"""Tiles that persistent workgroups write (:class:`kgen_runtime.manifest.Walk`).

Tiles are numbered matrix by matrix. Within a matrix, the order is by groups of rows, and column by
column within a group, so that tiles with close numbers share operands. Clusters of workgroups are
numbered die by die. The cluster with number n writes tiles n, n + count, n + 2 count, ... for a
launch of `count` clusters. A kernel may also draw the numbers of its clusters at run time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen_runtime.manifest import Extent3, Launch, Tile, Walk


def counts(tile: Tile) -> tuple[int, ...]:
    """Return the number of tiles along every dimension of the output."""
    return tuple(-(-size // extent) for size, extent in zip(tile.shape, tile.extent, strict=True))


def clusters(launch: Launch) -> int:
    return launch.grid[0] // math.prod(launch.cluster)


def share(launch: Launch, tile: Tile) -> int:
    """Return the most tiles that a cluster writes."""
    return -(-math.prod(counts(tile)) // clusters(launch))


def number_of(tile: Tile, piece: Sequence[int]) -> int:
    """Return the number of a tile."""
    *outer_counts, rows, cols = counts(tile)
    *outer, row, col = piece
    matrix = 0
    for index, count in zip(outer, outer_counts, strict=True):
        matrix = matrix * count + index
    first, height = _group(tile, row, rows)
    return (matrix * rows + first) * cols + col * height + row - first


def piece_at(tile: Tile, number: int) -> tuple[int, ...]:
    """Return the tile with a number."""
    *outer_counts, rows, cols = counts(tile)
    matrix, within = divmod(number, rows * cols)
    first, height = _group(tile, within // cols, rows)
    col, row = divmod(within - first * cols, height)
    outer = []
    for count in reversed(outer_counts):
        matrix, index = divmod(matrix, count)
        outer.append(index)
    return (*reversed(outer), first + row, col)


def _group(tile: Tile, row: int, rows: int) -> tuple[int, int]:
    """Return (first row, rows) of the group of a row of tiles."""
    assert tile.walk is not None
    first = row // tile.walk.group * tile.walk.group
    return first, min(tile.walk.group, rows - first)


def workgroups(launch: Launch, tile: Tile, piece: Sequence[int]) -> list[Extent3]:
    """Return the workgroups of the cluster that writes a tile."""
    size = math.prod(launch.cluster)
    first = cluster_with(launch, tile, number_of(tile, piece) % clusters(launch)) * size
    return [(first + i, 0, 0) for i in range(size)]


def cluster_with(launch: Launch, tile: Tile, number: int) -> int:
    """Return the cluster that has a number, if numbers are not drawn at run time."""
    assert tile.walk is not None
    start = 0
    for die in range(tile.walk.dies):
        held = _of_die(launch, tile.walk, die)
        if number < start + held:
            return (number - start) * tile.walk.dies + die
        start += held
    raise AssertionError(f"number {number} of {start}")


def number_of_cluster(launch: Launch, walk: Walk, cluster: int) -> int:
    """Return the number of a cluster, if numbers are not drawn at run time."""
    turn, die = divmod(cluster, walk.dies)
    return sum(_of_die(launch, walk, before) for before in range(die)) + turn


def _of_die(launch: Launch, walk: Walk, die: int) -> int:
    """Return the number of clusters on a die."""
    return (clusters(launch) + walk.dies - 1 - die) // walk.dies


def written(launch: Launch, tile: Tile, workgroup: Extent3) -> list[tuple[tuple[int, int], ...]]:
    """Return the bounds of each tile that a workgroup's cluster writes.

    If numbers are drawn at run time, they are those of the workgroup with that number.
    """
    assert tile.walk is not None
    cluster = workgroup[0] // math.prod(launch.cluster)
    return pieces_of(launch, tile, number_of_cluster(launch, tile.walk, cluster))


def pieces_of(launch: Launch, tile: Tile, first: int) -> list[tuple[tuple[int, int], ...]]:
    """Return the bounds of the tiles of the cluster with a number.

    With stream-k they include the shared tiles that it begins, which other clusters may write.
    """
    assert tile.walk is not None
    numbers = [*range(tile.walk.shared + first, math.prod(counts(tile)), clusters(launch))]
    if tile.walk.steps:
        steps = begin(launch, tile.walk, first), begin(launch, tile.walk, first + 1)
        starts = (-(-step // tile.walk.steps) for step in steps)
        numbers = [*range(*starts), *numbers]
    return [
        tuple(
            (index * extent, min((index + 1) * extent, size))
            for index, extent, size in zip(
                piece_at(tile, number), tile.extent, tile.shape, strict=True
            )
        )
        for number in numbers
    ]


def begin(launch: Launch, walk: Walk, number: int) -> int:
    """Return the first step of shared tiles of the workgroup with a number."""
    return number * walk.shared * walk.steps // clusters(launch)


def least_together(launch: Launch, walk: Walk) -> int:
    """Return how many workgroups, those with the highest numbers, compute the last shared tile."""
    last = (walk.shared - 1) * walk.steps
    count = clusters(launch)
    return next(n for n in range(1, count + 1) if begin(launch, walk, count - n) <= last)
