"""Masks of rows and tables of K-tiles, against the guards and offsets that they replace."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.spec import Conv2d
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen.targets.contraction.row_masks import GuardTest, RowMasks
from kgen.targets.contraction.step_table import StepTable


@st.composite
def convolutions(draw: st.DrawFn) -> Conv2d:
    """Return convolutions of one to three axes, some with more filter positions than bits of a
    word."""
    rank = draw(st.integers(1, 3))
    longest = {1: 70, 2: 36, 3: 4}[rank]
    kernel = tuple(draw(st.integers(1, longest if axis == rank - 1 else 4)) for axis in range(rank))
    dilation = draw(st.integers(1, 3))
    reaches = [dilation * (size - 1) + 1 for size in kernel]
    before = tuple(draw(st.integers(0, min(2, reach - 1))) for reach in reaches)
    after = tuple(draw(st.integers(0, min(2, reach - 1))) for reach in reaches)
    sizes = tuple(
        max(1, reach - low - high) + draw(st.integers(0, 3))
        for reach, low, high in zip(reaches, before, after, strict=True)
    )
    channels = draw(st.integers(1, 4))
    return Conv2d(
        input=(draw(st.integers(1, 2)), channels, *sizes),
        weights=(1, channels, *kernel),
        stride=draw(st.integers(1, 3)),
        padding=(*before, *after),
        dilation=dilation,
    )


def exists(access: AccessMap, row: int, k: int) -> bool:
    """Evaluate all guards for an element."""
    values = access.values("row", row), access.values("k", k)
    return all(
        0
        <= guard.start
        + sum(
            c * v
            for own, found in zip((guard.row, guard.k), values, strict=True)
            for c, v in zip(own, found, strict=True)
        )
        < guard.end
        for guard in access.guards
    )


def mask_of(masks: RowMasks, row: int) -> list[int]:
    """Compute the mask of a row as kernels do."""
    digits = masks.access.values("row", row)
    forms = [
        guard.start + sum(c * v for c, v in zip(guard.row, digits, strict=True))
        for guard in masks.guards
    ]

    def holds(tests: tuple[GuardTest, ...]) -> bool:
        return all(0 <= forms[test.guard] + test.add < test.end for test in tests)

    line, found = [0] * masks.line_words, [0] * masks.words
    for bit in masks.bit_tests:
        line[bit.word] |= bit.value * holds(bit.tests)
    for case in masks.line_cases:
        for bits in case.bits:
            moved = line[bits.source] << bits.shift
            assert moved < 2**32
            found[bits.word] |= moved * holds(case.tests)
    return found


@given(convolutions(), st.integers(1, 24))
@settings(deadline=None, max_examples=60)
def test_bounds_of_the_rows_of_a_tile(spec: Conv2d, rows: int) -> None:
    access, _ = access_maps(spec)
    low, high = access.row_span(rows)
    assert access.k_span == max(access.offset(0, k) for k in range(access.depth))
    for first in range(0, access.rows, rows):
        away = [access.offset(first + i, 0) - access.offset(first, 0) for i in range(rows)]
        assert low <= min(away) <= max(away) <= high


def test_bounds_of_rows_are_close() -> None:
    """A tile of 128 rows begins and ends inside lines of 56."""
    access, _ = access_maps(Conv2d(input=(1, 64, 56, 56), weights=(64, 64, 3, 3), padding=1))
    assert access.row_span(128) == (0, 127 * 64)
    access, _ = access_maps(Conv2d(input=(2, 1, 9, 9), weights=(1, 1, 3, 3)))
    # Seven of nine to a line, seven of nine lines to an image.
    assert access.row_span(10) == (0, 9 + 2 * 2 + 18)


@given(convolutions(), st.sampled_from([(0, 32), (17, 14), (30, 1)]))
@settings(deadline=None, max_examples=60)
def test_a_mask_has_the_positions_that_exist(spec: Conv2d, bits_used: tuple[int, int]) -> None:
    access, _ = access_maps(spec)
    first_bit, word_bits = bits_used
    masks = RowMasks(access=access, first_bit=first_bit, word_bits=word_bits)
    bits = [masks.bits_of(k) for k in range(access.depth)]
    assert masks.bits_of(access.depth) == (0,) * masks.words
    for row in {0, access.rows // 2, access.rows - 1}:
        mask = mask_of(masks, row)
        for k, own in enumerate(bits):
            assert sum(word.bit_count() for word in own) == 1
            assert all(word >> first_bit << first_bit == word for word in own)
            assert all(word < 1 << first_bit + word_bits for word in own)
            found = any(word & bit for word, bit in zip(mask, own, strict=True))
            assert found == exists(access, row, k)


@given(convolutions(), st.sampled_from([1, 2, 4, 8]), st.booleans())
@settings(deadline=None, max_examples=60)
def test_the_table_has_the_offset_of_each_k(spec: Conv2d, depth: int, by_sign: bool) -> None:
    access, _ = access_maps(spec)
    masks = RowMasks(access=access)
    by_sign = by_sign and masks.lines * masks.line < 32
    tiles = -(-access.depth // depth) + 1
    table = StepTable(
        access=access,
        masks=masks,
        depth=depth,
        vector=1,
        unit_bytes=2,
        tiles=tiles,
        by_sign=by_sign,
        end=0 if by_sign else 2**31,
    )
    assert len(table.words) == tiles * table.tile_words
    for tile in range(tiles):
        for column in range(table.entries_per_tile):
            k = tile * depth + column
            place = (tile * table.entries_per_tile + column) * table.entry_words
            offset, *bits = table.words[place : place + 1 + table.mask_words]
            if k < access.depth:
                assert offset == access.offset(0, k)
            if by_sign and k < access.depth:
                assert 1 << (31 - bits[0]) == masks.bits_of(k)[0] < 2**31
            elif by_sign:
                assert bits == [0]
            elif k < access.depth:
                assert tuple(bits) == masks.bits_of(k)
            else:
                assert bits == [2**31] + [0] * (masks.words - 1)


def test_the_first_k_tile_may_be_short() -> None:
    spec = Conv2d(input=(1, 2, 5, 5), weights=(1, 2, 3, 3))
    table = StepTable(
        access=access_maps(spec)[0],
        masks=RowMasks(access=access_maps(spec)[0]),
        depth=8,
        vector=2,
        unit_bytes=4,
        tiles=3,
        first_k=2,
    )
    offsets, bits = table.words[::2], table.words[1::2]
    assert offsets == (0, 0, 0, 0, 1, 2, 5, 6, 7, 10, 11, 12)
    assert bits == (1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize(("kernel", "words"), [((3, 3), 1), ((7, 7), 2), ((3, 39), 6), ((65,), 3)])
def test_words_of_a_mask(kernel: tuple[int, ...], words: int) -> None:
    spec = Conv2d(
        input=(1, 1, *(9 for _ in kernel)),
        weights=(1, 1, *kernel),
        padding=tuple(size // 2 for size in kernel),
    )
    assert RowMasks(access=access_maps(spec)[0]).words == words
