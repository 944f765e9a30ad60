"""Plans of attention by wgmma: tensor maps, tiles, steps of K, barriers."""

from __future__ import annotations

from typing import Any

from kgen import pipeline, targets
from kgen.schedule import WgmmaAttention
from kgen.spec import Attention
from kgen.targets.cuda.plan.attention.wgmma_attention import WgmmaAttentionPlan


def make(block_m: int = 128, block_n: int = 32, **fields: Any) -> WgmmaAttentionPlan:
    """Return a plan with two heads for each of three K/V heads, 96 elements a head and 40 a
    value."""
    spec = Attention(q=(2, 6, 300, 96), k=(2, 3, 500, 96), v=(2, 3, 500, 40), **fields)
    schedule = WgmmaAttention(block_m=block_m, block_n=block_n, num_stages=3)
    plan = pipeline.plan(spec, targets.find("sm_90a"), schedule)
    assert isinstance(plan, WgmmaAttentionPlan)
    return plan


def test_maps_have_the_coordinates_of_heads() -> None:
    q, k, v = make(layout="bshd").tensor_maps
    assert (q.shape, q.box) == ((2, 3, 2, 300, 96), (1, 1, 1, 128, 64))
    assert q.strides == (300 * 576, 192, 96, 576, 1)
    assert (k.shape, k.strides, k.box) == (
        (2, 3, 500, 96), (500 * 288, 96, 288, 1), (1, 1, 32, 64),
    )  # fmt: skip
    assert (v.shape, v.box) == ((2, 3, 500, 40), (1, 1, 32, 64))
    copies = [operand.coordinates("%e", "%row") for operand in make().loaded[:2]]
    assert copies == ["%e, %row, %batch2, %batch1, %batch0", "%e, %row, %batch1, %batch0"]
    assert make().operands[1].coordinates("%key", "%e") == "%e, %key, %batch1, %batch0"


def test_tiles_follow_one_another() -> None:
    plan = make()
    spans = [
        (box.offset, box.offset + operand.box_bytes)
        for operand in plan.loaded
        for box in operand.boxes
    ]
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    # 96 elements are two boxes, 40 are one.
    assert [len(operand.boxes) for operand in plan.loaded] == [2, 2, 1]
    assert spans[-1][1] == plan.queries.nbytes + plan.pipeline.stage_bytes
    assert plan.full_barriers == 2 * 128 * 128 + 3 * (2 * 32 * 128 + 32 * 128)


def test_steps_of_k_cross_boxes() -> None:
    """A box has 64 elements of K; descriptors count 16 bytes (PTX ISA, matrix descriptor of
    wgmma)."""
    plan = make()
    scores, values = plan.score_products.whole, plan.value_products.whole
    assert [(p.left, p.right) for p in scores] == [
        (0, 0), (2, 2), (4, 4), (6, 6), (1024, 256), (1026, 258),
    ]  # fmt: skip
    assert [p.right for p in values] == [0, 128]
    assert values[1].fragment == ("p_m0_k16", "p_m8_k16", "p_m0_k24", "p_m8_k24")
    assert scores[0].d[:6] == ("s_m0_n0", "s_m0_n1", "s_m8_n0", "s_m8_n1", "s_m0_n8", "s_m0_n9")
    # Results have 48 columns, whole steps of mma.m16n8k16.
    assert values[0].instruction.endswith("m64n48k16.f32.f16.f16") and len(values[0].d) == 24


def test_barriers() -> None:
    """Keys and values have three stages, full after one arrival and empty after eight warps."""
    plan = make()
    first = plan.full_barriers
    assert plan.barriers == tuple(
        (first + 8 * i, count) for i, count in enumerate((1,) * 6 + (8,) * 3 + (1,))
    )
    assert (plan.values_full, plan.barrier_bytes, plan.queries_full) == (24, 48, 72)
    assert plan.shared_bytes == first + 80


def test_zeros_cover_a_box_of_values() -> None:
    assert make(block_n=128, kv_length=True).zeroed == (0, 4096, 8192, 12288)
    assert make(block_m=192, block_n=16, kv_length=True).zeroed == (0,)
