"""Walk of persistent workgroups: they compute all tiles of the output, each once, in groups of
rows."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from kgen.check.verify import walk
from kgen_runtime.manifest import Launch, Tile, Walk


def tile(group: int) -> Tile:
    """Return a tile with 5 x 3 pieces in each of two matrices."""
    return Tile(shape=(2, 74, 40), extent=(1, 16, 16), axes=(0, 0, 0), walk=Walk(group=group))


def launch(group: int, ctas: int, cluster: int = 1) -> Launch:
    return Launch(
        entry_point="x",
        grid=(ctas, 1, 1),
        cluster=(cluster, 1, 1),
        arguments=(),
        tile=tile(group),
    )


@pytest.mark.parametrize("group", [1, 2, 5, 8])
def test_numbers_and_pieces(group: int) -> None:
    pieces = [walk.piece_at(tile(group), n) for n in range(30)]
    assert set(pieces) == set(itertools.product(range(2), range(5), range(3)))
    assert [walk.number_of(tile(group), piece) for piece in pieces] == list(range(30))


def test_two_rows_are_walked_column_by_column() -> None:
    order = [walk.piece_at(tile(2), n)[1:] for n in range(15)]
    assert order[:5] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    assert order[12:] == [(4, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize(("ctas", "cluster"), [(1, 1), (7, 1), (8, 2), (30, 1)])
def test_clusters_write_everything_once(ctas: int, cluster: int) -> None:
    found = launch(2, ctas, cluster)
    count = np.zeros((2, 74, 40), int)
    for first in range(0, ctas, cluster):
        boxes = walk.written(found, tile(2), (first, 0, 0))
        assert len(boxes) in (walk.share(found, tile(2)), walk.share(found, tile(2)) - 1)
        assert boxes == walk.written(found, tile(2), (first + cluster - 1, 0, 0))
        for box in boxes:
            count[tuple(slice(*ends) for ends in box)] += 1
    assert (count == 1).all()


@pytest.mark.parametrize(("workgroups", "dies"), [(30, 8), (7, 3), (4, 8), (16, 4)])
def test_numbers_of_dies(workgroups: int, dies: int) -> None:
    """Workgroups are distributed over dies in turn; each die gets neighbouring tiles."""
    numbered = tile(1)
    numbered = replace(numbered, walk=Walk(dies=dies, drawn=False))
    found = replace(launch(1, workgroups), tile=numbered)
    assert numbered.walk is not None
    numbers = [walk.number_of_cluster(found, numbered.walk, w) for w in range(workgroups)]
    assert sorted(numbers) == list(range(workgroups))
    assert [walk.cluster_with(found, numbered, n) for n in numbers] == list(range(workgroups))
    for die in range(min(dies, workgroups)):
        held = numbers[die::dies]
        assert held == list(range(held[0], held[0] + len(held)))


def test_the_writers_of_a_piece() -> None:
    found = launch(2, 8, 2)
    for n in range(math.prod(walk.counts(tile(2)))):
        piece = walk.piece_at(tile(2), n)
        assert walk.workgroups(found, tile(2), piece) == [
            (n % 4 * 2, 0, 0),
            (n % 4 * 2 + 1, 0, 0),
        ]
