"""Examples of tiles and walks in the reference page have the computed numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.check.verify import sampling, walk
from kgen_runtime.manifest import Launch, Tile, Walk

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "bundle-format.md"


@pytest.fixture(scope="module")
def page() -> str:
    return " ".join(PAGE.read_text().split())


def launch(tile: Tile, *grid: int) -> Launch:
    x, y, z = (*grid, 1, 1)[:3]
    return Launch(entry_point="k", grid=(x, y, z), arguments=("y",), tile=tile)


def listed(numbers: list[int]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}"


def test_a_tile(page: str) -> None:
    tile = Tile(shape=(100, 60), extent=(32, 16), axes=(1, 0))
    assert sampling.uncovered(launch(tile, 4, 4)) is None
    assert sampling.uncovered(launch(tile, 4, 3)) is not None
    for workgroup in ((2, 1, 0), (3, 3, 0)):
        rows, cols = sampling.written(tile, workgroup)
        words = f"rows {rows[0]} to {rows[1] - 1} and the columns {cols[0]} to {cols[1] - 1}"
        assert f"workgroup {workgroup} writes the {words}" in page


def test_a_group(page: str) -> None:
    tile = Tile(shape=(3, 4), extent=(1, 1), axes=(-1, -1), walk=Walk(group=2))
    first, second, third = (
        " ".join(str(walk.number_of(tile, (row, col))) for col in range(4)) for row in range(3)
    )
    words = f"{first} in the first row, {second} in the second and {third} in the third"
    assert words in page
    mine = [
        number
        for number in range(12)
        if walk.workgroups(launch(tile, 5), tile, walk.piece_at(tile, number)) == [(1, 0, 0)]
    ]
    assert f"Of 5 clusters, cluster 1 writes the boxes {listed(mine)}." in page


def test_stream_k(page: str) -> None:
    stream = Walk(shared=2, steps=8)
    tile = Tile(shape=(1, 12), extent=(1, 1), axes=(-1, -1), walk=stream)
    found = launch(tile, 4)
    begins = [walk.begin(found, stream, number) for number in range(5)]
    assert begins == [0, 4, 8, 12, 16]
    written = [
        [columns[0] for _, columns in walk.pieces_of(found, tile, number)] for number in range(4)
    ]
    assert [boxes[0] for boxes in written] == [0, 3, 1, 5]
    assert "box 0, which workgroup 0 writes" in page and "box 1, which workgroup 2 writes" in page
    assert f"workgroup 1 then writes the boxes {listed(written[1])}." in page
