"""Shared-memory layouts: nothing overlaps, and ldmatrix has no bank conflict."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from kgen.targets.cuda.plan.staging.tiles import PaddedTile, SwizzledTile

ROW_BYTES = (16, 32, 64, 128, 256, 512)


@pytest.mark.parametrize("row_bytes", ROW_BYTES)
def test_swizzle_is_a_bijection_that_keeps_chunks_whole(row_bytes: int) -> None:
    tile = SwizzledTile(rows=16, row_bytes=row_bytes)
    assert sorted(map(tile.swizzle, range(tile.nbytes))) == list(range(tile.nbytes))
    for offset in range(0, tile.nbytes, 16):
        assert tile.swizzle(offset + 15) == tile.swizzle(offset) + 15


@pytest.mark.parametrize("row_bytes", ROW_BYTES)
def test_swizzle_stays_in_the_row(row_bytes: int) -> None:
    tile = SwizzledTile(rows=16, row_bytes=row_bytes)
    for offset in range(tile.nbytes):
        assert tile.swizzle(offset) // row_bytes == offset // row_bytes


@pytest.mark.parametrize("row_bytes", ROW_BYTES)
def test_eight_chunks_of_a_column_lie_in_eight_bank_groups(row_bytes: int) -> None:
    tile = SwizzledTile(rows=16, row_bytes=row_bytes)
    for first_row, column in product((0, 8), range(0, row_bytes, 16)):
        rows = range(first_row, first_row + 8)
        groups = {tile.swizzle(row * row_bytes + column) % 128 // 16 for row in rows}
        assert len(groups) == 8


@pytest.mark.parametrize("row_bytes", ROW_BYTES)
def test_an_offset_splits_into_xor_and_addition(row_bytes: int) -> None:
    """Adding an offset whose bits are free in the address equals (address ^ xor) + addition."""
    tile = SwizzledTile(rows=64, row_bytes=row_bytes)
    low = [row * row_bytes + column for row, column in product(range(16), (0, row_bytes // 2))]
    high = [row * row_bytes for row in (16, 32, 48)]
    for start, step in product(low, high):
        xor, addition = tile.split(step)
        assert (tile.swizzle(start) ^ xor) + addition == tile.swizzle(start + step)


@pytest.mark.parametrize("transposed", [False, True])
def test_padded_elements_do_not_overlap(transposed: bool) -> None:
    tile = PaddedTile(depth=8, width=32, transposed=transposed)
    rows, cols = (32, 8) if transposed else (8, 32)
    places = [tile.place(row, col) for row, col in product(range(rows), range(cols))]
    assert {xor for xor, _ in places} == {0}
    offsets = sorted(offset for _, offset in places)
    assert all(b - a >= 4 for a, b in pairwise(offsets))
    assert offsets[-1] + 4 <= tile.nbytes
    assert tile.pitch % 16 == 0


@pytest.mark.parametrize("units_per_row", [2, 8])
def test_transposing_stores_meet_no_bank_conflict(units_per_row: int) -> None:
    """A warp writes `units_per_row` neighbours along K of each of its rows (of M or N)."""
    tile = PaddedTile(depth=8, width=64, transposed=True)
    step = tile.depth // units_per_row
    lanes = [(lane // units_per_row, lane % units_per_row * step) for lane in range(32)]
    banks = [tile.place(row, col)[1] // 4 % 32 for row, col in lanes]
    assert len(set(banks)) == 32
