"""Lanes of attention (QueryLanes): both products agree on the key of each weight."""

from __future__ import annotations

import pytest

from kgen import targets
from kgen.schedule import MmaAttention
from kgen.spec import DType
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.plan.attention.matrix_attention import plan_attention
from kgen.targets.amdgpu.plan.attention.query_lanes import BitMove, QueryLanes, bit_moves
from tests.attention_specs import attention

INSTRUCTIONS = [
    pytest.param(QueryLanes(instruction=i, wave=target.subgroup), id=f"{target.name}-{i.name}")
    for target in targets.family("amdgpu").targets
    for i in matrix.of_waves(target, DType.F16)
]


def moved(moves: tuple[BitMove, ...], number: int) -> int:
    return sum((number & move.mask) << move.left >> move.right for move in moves)


def test_moves_of_bits() -> None:
    swapped = bit_moves(lambda n: {1: 1, 2: 4, 4: 2}[n], 8)
    assert swapped == (
        BitMove(mask=1),
        BitMove(mask=2, left=1),
        BitMove(mask=4, right=1),
    )
    assert [moved(swapped, n) for n in range(8)] == [0, 1, 4, 5, 2, 3, 6, 7]


@pytest.mark.parametrize("lanes", INSTRUCTIONS)
def test_keys_and_elements_are_permutations_of_bits(lanes: QueryLanes) -> None:
    keys, rows = 64, range(lanes.instruction.m)
    assert sorted(map(lanes.key, range(keys))) == list(range(keys))
    assert [moved(lanes.key_moves(keys), n) for n in range(keys)] == list(
        map(lanes.key, range(keys))
    )
    assert sorted(map(lanes.element, rows)) == list(rows)
    assert [moved(lanes.element_moves, n) for n in rows] == list(map(lanes.element, rows))


@pytest.mark.parametrize(
    ("target", "size", "keys", "elements"),
    [
        # 16x16x16: four keys of each group from either tile; four neighbouring elements.
        ("gfx942", 16, [0, 1, 2, 3, 16, 17, 18, 19, 4], [0, 1, 2, 3, 4]),
        # 32x32x8: rows 0 to 3 and 8 to 11 are of the first group.
        ("gfx942", 32, [0, 1, 2, 3, 8, 9, 10, 11, 4], [0, 1, 2, 3, 16, 17, 18, 19, 4]),
        # gfx11: even rows are of the lower half, and both halves have all keys.
        ("gfx1100", 16, [0, 1, 2, 3], [0, 8, 1, 9]),
        ("gfx1201", 16, [0, 1, 2, 3], [0, 1, 2, 3]),
    ],
)
def test_orders(target: str, size: int, keys: list[int], elements: list[int]) -> None:
    found = targets.find(target)
    instruction = next(i for i in matrix.of_waves(found, DType.F16) if i.n == size)
    lanes = QueryLanes(instruction=instruction, wave=found.subgroup)
    assert list(map(lanes.key, range(len(keys)))) == keys
    assert list(map(lanes.element, range(len(elements)))) == elements


@pytest.mark.parametrize(
    ("target", "size", "kept"),
    [("gfx1201", 128, True), ("gfx1100", 128, True), ("gfx1100", 256, False)],
)
def test_queries_stay_in_registers_if_they_fit(target: str, size: int, kept: bool) -> None:
    schedule = MmaAttention(block_m=128, block_n=16, num_warps=8, num_stages=1)
    plan = plan_attention(attention(64, 64, size), targets.find(target), schedule)
    assert plan.tiles.keeps_queries is kept


def test_a_mask_is_read_in_vectors_of_keys_that_exist() -> None:
    schedule = MmaAttention(block_m=64, block_n=32, num_warps=2, num_stages=1)
    for keys, width in ((64, 4), (62, 2), (63, 1)):
        spec = attention(64, keys, 16, mask=(64, keys))
        mask = plan_attention(spec, targets.find("gfx942"), schedule).mask
        assert mask is not None and mask.width == width
        assert [piece.register for piece in mask.pieces_of(0)] == list(range(0, 16, width))
