"""Which pieces of an output persistent workgroups write (:class:`kgen_runtime.manifest.Walk`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen_runtime.manifest import Extent3, Launch, Tile, Walk


def counts(tile: Tile) -> tuple[int, ...]:
    """Pieces along every dimension of the output."""
    return tuple(-(-size // extent) for size, extent in zip(tile.shape, tile.extent, strict=True))


def clusters(launch: Launch) -> int:
    return launch.grid[0] // math.prod(launch.cluster)


def share(launch: Launch, tile: Tile) -> int:
    """The most pieces that a cluster writes."""
    return -(-math.prod(counts(tile)) // clusters(launch))


def number_of(tile: Tile, piece: Sequence[int]) -> int:
    """The number of a piece."""
    *outer_counts, rows, cols = counts(tile)
    *outer, row, col = piece
    matrix = 0
    for index, count in zip(outer, outer_counts, strict=True):
        matrix = matrix * count + index
    first, height = _group(tile, row, rows)
    return (matrix * rows + first) * cols + col * height + row - first


def piece_at(tile: Tile, number: int) -> tuple[int, ...]:
    """The piece with a number."""
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
    """(first row, rows) of the group of a row of pieces."""
    assert tile.walk is not None
    first = row // tile.walk.group * tile.walk.group
    return first, min(tile.walk.group, rows - first)


def workgroups(launch: Launch, tile: Tile, piece: Sequence[int]) -> list[Extent3]:
    """The cluster that writes a piece."""
    size = math.prod(launch.cluster)
    first = cluster_with(launch, tile, number_of(tile, piece) % clusters(launch)) * size
    return [(first + i, 0, 0) for i in range(size)]


def cluster_with(launch: Launch, tile: Tile, number: int) -> int:
    """The cluster that has a number, if numbers are not drawn."""
    assert tile.walk is not None
    start = 0
    for die in range(tile.walk.dies):
        held = _of_die(launch, tile.walk, die)
        if number < start + held:
            return (number - start) * tile.walk.dies + die
        start += held
    raise AssertionError(f"number {number} of {start}")


def number_of_cluster(launch: Launch, walk: Walk, cluster: int) -> int:
    """The number that a cluster has, if numbers are not drawn."""
    turn, die = divmod(cluster, walk.dies)
    return sum(_of_die(launch, walk, before) for before in range(die)) + turn


def _of_die(launch: Launch, walk: Walk, die: int) -> int:
    """Clusters of a die."""
    return (clusters(launch) + walk.dies - 1 - die) // walk.dies


def written(launch: Launch, tile: Tile, workgroup: Extent3) -> list[tuple[tuple[int, int], ...]]:
    """The bounds, per output dimension, of each piece that a workgroup's cluster writes; where
    numbers are drawn, the workgroup with that number."""
    assert tile.walk is not None
    cluster = workgroup[0] // math.prod(launch.cluster)
    return pieces_of(launch, tile, number_of_cluster(launch, tile.walk, cluster))


def pieces_of(launch: Launch, tile: Tile, first: int) -> list[tuple[tuple[int, int], ...]]:
    """Return the pieces of the cluster with a number. Where clusters do not wait for each other,
    these are the cut pieces that it begins, which others may write."""
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
    """The first step of shared pieces that the workgroup with a number takes."""
    return number * walk.shared * walk.steps // clusters(launch)


def least_together(launch: Launch, walk: Walk) -> int:
    """How many workgroups, who have the highest numbers, make the last shared piece."""
    last = (walk.shared - 1) * walk.steps
    count = clusters(launch)
    return next(n for n in range(1, count + 1) if begin(launch, walk, count - n) <= last)
