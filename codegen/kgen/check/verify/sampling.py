"""Seeded samples of workgroups (CPU: tasks) and of output elements, for large kernels.

Along every axis a sample includes the first, the last and an interior position, and all
combinations of these, because tiles differ there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from kgen.check.oracle.operations import Box, output_shape
from kgen.check.verify import walk
from kgen_runtime.manifest import Extent3, KernelEntry, Launch, Tile
from kgen_runtime.values import frozen

#: Workgroups to run, per launch.
Workgroups = tuple[tuple[Extent3, ...], ...]


@frozen
class Sample:
    """Workgroups (tasks) to run, per launch, and the boxes of the output that they write."""

    workgroups: Workgroups
    boxes: tuple[Box, ...]


def is_product_of_tasks(entry: KernelEntry) -> bool:
    """Whether the kernel is a CPU GEMM whose last launch multiplies.

    Earlier ones pack its operands.
    """
    tile = entry.launches[-1].tile
    return entry.target.family == "cpu" and tile is not None and tile.walk is not None


def sampled_launch(entry: KernelEntry) -> Launch:
    """Return the launch whose workgroups are sampled."""
    return entry.launches[-1 if is_product_of_tasks(entry) else 0]


def sample(entry: KernelEntry, budget: int, seed: int) -> Sample | None:
    """Return the corners and further workgroups, up to `budget` in all; None to run everything.

    CPU tasks are few and long: the last one runs, and others as the budget allows. Everything runs
    if the budget allows it, and if a launch does not say what its workgroups write. A sample is
    closed: its workgroups depend only on each other.
    """
    launch = sampled_launch(entry)
    tile = launch.tile
    if tile is None or math.prod(launch.grid) <= budget:
        return None
    generator = np.random.default_rng(seed)
    if is_product_of_tasks(entry):
        return _of_tasks(entry.launches, tile, budget, generator)
    if len(entry.launches) > 1:
        last = entry.launches[1]
        closed = len(entry.launches) == 2 and tile.parts > 1 and last.tile is not None
        return _of_parts(launch, tile, last, budget, generator) if closed else None
    if tile.walk is not None:
        return (
            _of_stream(launch, tile, budget) if tile.walk.steps else _of_walk(launch, tile, budget)
        )
    counts = [tile_count(tile, launch.grid, dim) for dim in range(len(tile.shape))]
    chosen = set(corners(counts, generator))
    groups = closed_group_size(launch)
    for _ in range(max(0, budget // groups - len(chosen))):
        chosen.add(tuple(int(generator.integers(n)) for n in counts))
    workgroups = {w for piece in sorted(chosen) for w in closed_group(launch, tile, piece)}
    return _sample(workgroups, (written(tile, w) for w in sorted(workgroups)))


def _of_tasks(
    launches: Sequence[Launch], tile: Tile, budget: int, generator: np.random.Generator
) -> Sample:
    """Return a sample of CPU tasks.

    The order of preference is: the last task; neighbours of which the second packs anew; the last
    task's neighbour, which has packed for both; the first task; other corners; any tasks.
    """
    *before, launch = launches
    counts = walk.counts(tile)
    assert tile.walk is not None
    last = math.prod(counts) - 1
    line = min(tile.walk.group, counts[-2]) if tile.walk.group > 1 else counts[-1]
    others = [walk.number_of(tile, corner) for corner in corners(counts, generator)]
    numbers = [last, last - line, last - line + 1, last - 1, 0, 1, *others]
    numbers += generator.permutation(last).tolist()
    room = budget * math.prod(tile.extent)
    chosen: dict[int, tuple[tuple[int, int], ...]] = {}
    for number in dict.fromkeys(n for n in numbers if n >= 0):
        (box,) = walk.written(launch, tile, (number, 0, 0))
        elements = math.prod(stop - start for start, stop in box)
        if number == last or elements <= room:
            chosen[number] = box
            room -= elements
    whole = [tuple((x, 0, 0) for x in range(earlier.grid[0])) for earlier in before]
    tasks = tuple((number, 0, 0) for number in sorted(chosen))
    return Sample(workgroups=(*whole, tasks), boxes=_slices(chosen.values()))


def fewest(entry: KernelEntry, seed: int) -> Workgroups | None:
    """Return the fewest workgroups that can run alone, at two corners of the output.

    Returns None if that would be all of them.
    """
    found = sample(entry, 1, seed)
    if found is None:
        return None
    launch = entry.launches[0]
    plain = launch.tile is not None and launch.tile.walk is None and len(entry.launches) == 1
    if plain and closed_group_size(launch) == 1:
        return ((found.workgroups[0][0], found.workgroups[0][-1]),)
    return found.workgroups


def _of_walk(launch: Launch, tile: Tile, budget: int) -> Sample:
    """Return a sample of clusters: those of two opposite corners, and others up to the budget."""
    corners = list(itertools.product(*(sorted({0, n - 1}) for n in walk.counts(tile))))
    workgroups: set[Extent3] = set()
    for index, piece in enumerate([corners[0], corners[-1], *corners[1:-1]]):
        if index < 2 or len(workgroups) < budget:
            workgroups |= set(walk.workgroups(launch, tile, piece))
    boxes = (box for w in sorted(workgroups) for box in walk.written(launch, tile, w))
    return _sample(workgroups, boxes)


def _of_stream(launch: Launch, tile: Tile, budget: int) -> Sample | None:
    """Return a sample of a stream-k kernel: the workgroups with the highest numbers.

    If numbers are drawn at run time, any workgroups will do.
    """
    assert tile.walk is not None
    total = launch.grid[0]
    count = max(budget, walk.least_together(launch, tile.walk))
    if count >= total:
        return None
    numbers = range(total - count, total)
    boxes = (box for number in numbers for box in walk.pieces_of(launch, tile, number))
    workgroups = numbers if not tile.walk.drawn else range(count)
    return _sample([(walk.cluster_with(launch, tile, i), 0, 0) for i in workgroups], boxes)


def _of_parts(
    launch: Launch, tile: Tile, last: Launch, budget: int, generator: np.random.Generator
) -> Sample | None:
    """Return a sample of a split-k kernel: whole rows of tiles with all their parts.

    It includes the workgroups of the second launch that add up these parts and nothing else.
    """
    assert last.tile is not None
    matrices, rows = (tile_count(tile, launch.grid, dim) for dim in (0, 1))
    chosen = set(corners((matrices, rows), generator))
    each = math.prod(launch.grid) // (matrices * rows)
    for _ in range(max(0, budget // each - len(chosen))):
        chosen.add((int(generator.integers(matrices)), int(generator.integers(rows))))
    if len(chosen) == matrices * rows:
        return None
    (height, cols), (width, size) = (
        (tile.extent[1], tile.shape[2]),
        (last.tile.extent[1], last.tile.shape[1]),
    )
    makers = {w for matrix, row in chosen for w in closed_group(launch, tile, (matrix, row))}
    adders: list[Extent3] = []
    boxes: list[tuple[tuple[int, int], ...]] = []
    for matrix, first, end in _strips(chosen, height * cols, size):
        begin, stop = -(-first // width), -(-size // width) if end == size else end // width
        if begin < stop:
            adders += [_at(last.tile, (matrix, i)) for i in range(begin, stop)]
            boxes += _boxes(matrix, begin * width, min(stop * width, size), cols)
    return Sample(workgroups=(tuple(sorted(makers)), tuple(adders)), boxes=_slices(boxes))


def _strips(
    chosen: Collection[tuple[int, ...]], size: int, limit: int
) -> list[tuple[int, int, int]]:
    """Return (matrix, first element, end) of rows of tiles; adjacent rows are joined."""
    found: list[tuple[int, int, int]] = []
    for matrix, row in sorted(chosen):
        first, end = row * size, min((row + 1) * size, limit)
        if found and found[-1][0] == matrix and found[-1][2] == first:
            first = found.pop()[1]
        found.append((matrix, first, end))
    return found


def _boxes(matrix: int, first: int, end: int, cols: int) -> list[tuple[tuple[int, int], ...]]:
    """Return a range of a matrix's elements as boxes: part of a row, whole rows, part of a row."""
    top, bottom = -(-first // cols), end // cols
    here = (matrix, matrix + 1)
    if top > bottom:
        return [(here, (bottom, top), (first - bottom * cols, end - bottom * cols))]
    pieces = [
        (here, (top - 1, top), (first - (top - 1) * cols, cols)),
        (here, (top, bottom), (0, cols)),
        (here, (bottom, bottom + 1), (0, end - bottom * cols)),
    ]
    return [piece for piece in pieces if holds(piece)]


def _at(tile: Tile, piece: Sequence[int]) -> Extent3:
    """Return the workgroup that writes a tile."""
    x, y, z = (piece[tile.axes.index(a)] if a in tile.axes else 0 for a in range(3))
    return x, y, z


def _sample(
    workgroups: Collection[Extent3], bounds: Iterable[tuple[tuple[int, int], ...]]
) -> Sample:
    return Sample(workgroups=(tuple(sorted(workgroups)),), boxes=_slices(bounds))


def _slices(bounds: Iterable[tuple[tuple[int, int], ...]]) -> tuple[Box, ...]:
    """Return bounds as boxes, without duplicates and without empty ones."""
    boxes = [box for box in dict.fromkeys(bounds) if holds(box)]
    return tuple(tuple(slice(*ends) for ends in box) for box in boxes)


def tile_count(tile: Tile, grid: Extent3, dim: int) -> int:
    """Return how many tiles of an output dimension hold elements."""
    if tile.axes[dim] < 0:
        return 1
    pieces = -(-tile.shape[dim] // tile.extent[dim])
    return min(grid[tile.axes[dim]] // (tile.parts if dim == 0 else 1), pieces)


def uncovered(launch: Launch) -> str | None:
    """Return which part of the output no workgroup of the grid writes, as text, or None."""
    if launch.tile is None or launch.tile.walk is not None:
        return None
    tile = launch.tile
    for dim, (size, extent, axis) in enumerate(
        zip(tile.shape, tile.extent, tile.axes, strict=True)
    ):
        workgroups = 1 if axis < 0 else launch.grid[axis] // (tile.parts if dim == 0 else 1)
        reach = extent * workgroups
        if reach < size:
            return f"the grid reaches {reach} of {size} elements of output dimension {dim}"
    return None


def corners(counts: Sequence[int], generator: np.random.Generator) -> list[tuple[int, ...]]:
    """Return combinations of the first, the last and one interior position along every axis."""
    positions = []
    for count in counts:
        interior = int(generator.integers(1, count - 1)) if count > 2 else 0
        positions.append(sorted({0, interior, count - 1}))
    return list(itertools.product(*positions))


def closed_group_size(launch: Launch) -> int:
    """Return about how many workgroups must run together: a cluster, or all parts of one tile."""
    assert launch.tile is not None
    free = [launch.grid[axis] for axis in range(3) if axis not in launch.tile.axes]
    return max(math.prod(free) * launch.tile.parts, math.prod(launch.cluster))


def closed_group(launch: Launch, tile: Tile, piece: Sequence[int]) -> list[Extent3]:
    """Return the workgroups that compute a tile, or tiles with a prefix, and their clusters."""
    spans = []
    for axis, (size, cluster) in enumerate(zip(launch.grid, launch.cluster, strict=True)):
        dim = tile.axes.index(axis) if axis in tile.axes else len(piece)
        if dim < len(piece):
            parts = tile.parts if dim == 0 else 1
            start = piece[dim] * parts // cluster * cluster
            spans.append(range(start, min(start + max(cluster, parts), size)))
        else:
            spans.append(range(size))
    return [(x, y, z) for x, y, z in itertools.product(*spans)]


def holds(bounds: tuple[tuple[int, int], ...]) -> bool:
    """Whether the bounds hold any elements."""
    return all(start < stop for start, stop in bounds)


def written(tile: Tile, workgroup: Extent3) -> tuple[tuple[int, int], ...]:
    """Return the bounds of the elements that a workgroup writes, or contributes to."""
    bounds = []
    for dim, (size, extent, axis) in enumerate(
        zip(tile.shape, tile.extent, tile.axes, strict=True)
    ):
        index = 0 if axis < 0 else workgroup[axis] // (tile.parts if dim == 0 else 1)
        start = min(index * extent, size)
        bounds.append((start, size if axis < 0 else min(start + extent, size)))
    return tuple(bounds)


def elements(entry: KernelEntry, box: Box, limit: int, seed: int) -> list[tuple[int, ...]]:
    """Return up to `limit` elements of a box: all, or corners, tile edges and others.

    The coordinates are those of the whole output.
    """
    spans = [range(s.start, s.stop) for s in box]
    if math.prod(map(len, spans)) <= limit:
        return list(itertools.product(*spans))
    generator = np.random.default_rng(seed)
    tile = sampled_launch(entry).tile
    extents = tile.extent if tile is not None else output_shape(entry)
    pairs = zip(spans, extents, strict=True)
    box_corners = shuffled(generator, *(sorted({s[0], s[-1]}) for s in spans))
    tile_edges = shuffled(generator, *(sorted(edge_positions(s, e)) for s, e in pairs))
    chosen = dict.fromkeys(box_corners[: max(limit, 1)] + tile_edges[: limit // 2])
    rest = max(0, limit - len(chosen))
    # Cross a few positions along every axis: elements that share a row or column cost little more.
    each = math.ceil(rest ** (1 / max(1, sum(len(s) > 1 for s in spans))))
    axes = (generator.choice(s, min(each, len(s)), replace=False).tolist() for s in spans)
    return sorted(chosen | dict.fromkeys(shuffled(generator, *axes)[:rest]))


def shuffled(generator: np.random.Generator, *axes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return combinations of positions along each axis, in random order."""
    combinations = list(itertools.product(*axes))
    return [combinations[i] for i in generator.permutation(len(combinations))]


def edge_positions(span: range, extent: int) -> set[int]:
    """Return first and last positions of the span's first, second and last tiles."""
    last_tile = span[-1] // extent * extent
    starts = (span[0], span[0] + extent, last_tile)
    return {p for start in starts for p in (start - 1, start) if p in span} | {span[-1]}
