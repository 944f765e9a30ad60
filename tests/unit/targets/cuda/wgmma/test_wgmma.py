"""Plans of the wgmma main loop: tensor maps, boxes, descriptors, barriers, and refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.schedule import MmaMatmul, WgmmaMatmul
from kgen.spec import DType, Layout, Matmul
from kgen.targets.cuda import FAMILY
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.wgmma.matmul import WgmmaPlan, plan_wgmma
from kgen.targets.cuda.schedule.candidates import choose
from kgen.targets.cuda.schedule.cost_model import predict
from kgen_runtime.manifest import Walk

BY_NAME = {target.name: target for target in TARGETS}
SM_90A = BY_NAME["sm_90a"]
MMA = MmaMatmul(block_m=128, block_n=256, block_k=64, warp_m=64, warp_n=64, num_stages=3)
BIG = WgmmaMatmul(block_m=128, block_n=256, block_k=64, num_stages=4)


def make(schedule: WgmmaMatmul = BIG, target: str = "sm_90a", **fields: Any) -> WgmmaPlan:
    spec = Matmul(**({"m": 4096, "n": 4096, "k": 4096} | fields))
    return plan_wgmma(spec, BY_NAME[target], schedule)


def test_maps_of_both_majors() -> None:
    a, b = make(layout=Layout.NN, lda=4104).tensor_maps
    assert (a.name, a.tensor, a.shape, a.strides) == ("a_map", "a", (4096, 4096), (4104, 1))
    assert (a.box, a.swizzle) == ((128, 64), 128)
    assert b.box == (64, 64)
    a, b = make(layout=Layout.TT).tensor_maps
    assert (a.box, b.box) == ((64, 64), (256, 64))


def test_maps_of_a_batch() -> None:
    a, b = make(m=128, batch=3, batch_stride_b=0).tensor_maps
    assert (a.shape, a.strides, a.box) == ((3, 128, 4096), (128 * 4096, 4096, 1), (1, 128, 64))
    assert len(b.shape) == 2


@pytest.mark.parametrize("layout", tuple(Layout))
def test_boxes_fill_a_stage(layout: Layout) -> None:
    plan = make(layout=layout)
    spans = [
        (box.offset, box.offset + o.tensor_map.box_bytes) for o in plan.operands for box in o.boxes
    ]
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    assert (spans[0][0], spans[-1][1]) == (0, plan.stage_bytes) == (0, 48 * 1024)


def test_descriptors() -> None:
    """Units are 16 bytes (PTX ISA 9.7.15.5.1): distances of a step of K and of 64 columns."""
    a, b = make(layout=Layout.NN).operands
    assert (a.step_words(1), b.step_words(1)) == (2, 128)
    assert (a.descriptor_low, b.descriptor_low) == (1 << 16, 512 << 16)
    assert a.descriptor_high == b.descriptor_high == 64 | 1 << 30
    assert (a.is_transposed, b.is_transposed) == (0, 1)


def test_products_cover_rows_and_k() -> None:
    products = make(WgmmaMatmul(block_m=256, block_n=128, block_k=64, num_stages=3)).products.whole
    assert [(p.left, p.right) for p in products[:2]] == [(0, 0), (512, 0)]
    assert len(products) == 4 * 2 and [p.first for p in products].count(True) == 2
    assert {name for p in products for name in p.d} == {
        f"acc_m{m + i}_n{n}" for m in (0, 64) for i in (0, 8) for n in range(128) if n % 8 < 2
    }


def test_barriers_lie_behind_the_stages() -> None:
    plan = make()
    assert plan.full_barriers == 4 * plan.stage_bytes
    assert [arrivals for _, arrivals in plan.barriers] == [1] * 4 + [8] * 4
    assert plan.barriers[-1][0] + 8 == plan.shared_bytes <= 227 * 1024
    assert make(k=128).shared_bytes == 2 * (plan.stage_bytes + 16)


def test_persistent_ctas_are_no_more_than_tiles() -> None:
    many = BIG.override(num_workgroups=132, group_m=8)
    (launch,) = make(many).launches
    assert (launch.grid, launch.cluster) == ((132, 1, 1), (1, 1, 1))
    assert launch.tile is not None and launch.tile.walk == Walk(group=8)
    (launch,) = make(many.override(cluster_m=2), m=300, n=304).launches
    assert (launch.grid, launch.cluster) == ((8, 1, 1), (2, 1, 1))


def test_clusters_of_single_tiles() -> None:
    """Three rows of tiles take two clusters; the last CTA has no outputs."""
    plan = make(BIG.override(cluster_m=2), m=300)
    assert (plan.launches[0].grid, plan.launches[0].cluster) == ((16, 4, 1), (1, 2, 1))
    assert plan.output.m_edge and make(BIG.override(cluster_m=2), m=128).output.m_edge
    b = plan.operands[1]
    assert (b.share_extent, b.share_bytes, plan.everyone) == (128, 16384, 3)
    assert [box.along for box in b.boxes] == [0, 64]
    assert [arrivals for _, arrivals in plan.barriers] == [1] * 4 + [16] * 4


def test_two_that_take_turns() -> None:
    schedule = BIG.override(pingpong=1, num_workgroups=132, block_n=128)
    plan = make(schedule, k=640)
    assert (schedule.rows, plan.group_words) == (128, 0)
    assert [arrivals for _, arrivals in plan.barriers] == [1] * 4 + [4] * 4
    assert plan.skipped == (2, False) and make(schedule, k=384).skipped == (2, True)


def test_strips_cover_a_warpgroups_outputs() -> None:
    """Each output is stored once; stmatrix has rows 0 and 8, then the same rows 8 columns
    further."""
    plan = make(BIG.override(tma_store=1), n=4000)
    store = plan.store
    assert store is not None
    assert (store.base, store.group_bytes) == (4 * plan.stage_bytes, 2 * 8192)
    assert (store.tensor_map.shape, store.tensor_map.box) == ((4096, 4000), (64, 64))
    pairs = [pair for strip in store.strips for put in strip.puts for pair in put.pairs]
    names = [name for row, column in pairs for name in column.names(f"acc_m{row.offset}")]
    assert sorted(names) == sorted(
        name for row in plan.output.rows for name in plan.output.accumulators(row)
    )
    first = store.strips[0].puts[0].pairs
    assert [(row.offset, column.offset) for row, column in first] == [
        (0, 0),
        (8, 0),
        (0, 8),
        (8, 8),
    ]
    assert [strip.offset for strip in store.strips] == [0, 8192, 0, 8192]
    assert [strip.fresh for strip in store.strips] == [True, True, False, False]


@pytest.mark.parametrize(("block_n", "pending"), [(256, [1, 1, 1, 1]), (192, [0, 2, 1]), (64, [0])])
def test_a_strip_waits_for_the_copy_that_reads_its_buffer(block_n: int, pending: list[int]) -> None:
    """The last strip of a block tile may share the buffer of the next tile's first strip."""
    store = make(BIG.override(tma_store=1, num_workgroups=132, block_n=block_n)).store
    assert store is not None and [strip.pending for strip in store.strips] == pending


def test_barriers_do_not_share_memory_with_strips() -> None:
    plan = make(BIG.override(tma_store=1, num_workgroups=132))
    assert plan.store is not None
    assert plan.full_barriers == plan.store.base + 2 * plan.store.group_bytes
    assert plan.full_barriers + 2 * plan.barrier_bytes == plan.shared_bytes
    assert not any(strip.fresh for strip in plan.store.strips)


@pytest.mark.parametrize(
    ("fields", "schedule", "message"),
    [
        (
            {},
            {"block_k": 32},
            "block_k=32 is not 64; TMA and wgmma swizzle rows of 128 bytes, "
            "which are 64 elements of f16; try block_k=64",
        ),
        (
            {},
            {"consumers": 4},
            "consumers=4 is more than 3, which leaves each warpgroup too few"
            " registers; try consumers=3",
        ),
        (
            {},
            {"block_m": 96},
            "block_m=96 gives each of 2 consumer warpgroups 48 rows, which is"
            " not a multiple of 64; try block_m=128",
        ),
        ({}, {"block_n": 96}, "block_n=96 is not a multiple of 64 up to 256; try block_n=64"),
        (
            {"layout": "nt"},
            {"block_n": 260},
            "block_n=260 is not a multiple of 8 up to 256; try block_n=256",
        ),
        (
            {},
            {"num_stages": 1},
            "num_stages=1 leaves no stage to load while another is multiplied; try num_stages=2",
        ),
        (
            {},
            {"block_m": 256},
            "128 rows of 256 columns per consumer warpgroup need 256 registers per thread; "
            "consumers=2 leaves 208; try block_n=192",
        ),
        ({}, {"num_stages": 5}, "num_stages=5 needs 245840 B of shared memory; sm_90a allows"),
        ({}, {"tma_store": 1, "num_stages": 5}, "allows 232448; try num_stages=4"),
        (
            {},
            {"pingpong": 1},
            "pingpong=1 needs two consumer warpgroups and persistent CTAs; "
            "consumers=2 and num_workgroups=0; try consumers=2,num_workgroups=132",
        ),
        (
            {},
            {"group_m": 2},
            "group_m=2 orders the block tiles of persistent CTAs, and num_workgroups"
            " is 0; try num_workgroups=132",
        ),
        ({}, {"cluster_m": 3}, "cluster_m=3 is not 1, 2, 4 or 8; try cluster_m=2"),
        ({}, {"cluster_m": 8}, "block_n=256 is not a multiple of 512 up to 256"),
        (
            {},
            {"cluster_m": 2, "num_workgroups": 5},
            "num_workgroups=5 is not a multiple of the 2 CTAs of a cluster; try num_workgroups=6",
        ),
        (
            {"out_dtype": "f32"},
            {"tma_store": 1},
            "tma_store=1 is not possible: TMA stores "
            "16-bit outputs here, and the output is f32; "
            "try tma_store=0",
        ),
        (
            {"ldc": 4100},
            {"tma_store": 1},
            "tma_store=1 is not possible: the output's rows are "
            "8200 bytes apart, and TMA requires a multiple of 16;"
            " try tma_store=0",
        ),
        (
            {"layout": "nt"},
            {"tma_store": 1, "block_n": 120},
            "tma_store=1 is not possible: TMA stores 64 columns at a time, and block_n=120 is "
            "not a multiple of that; try tma_store=0",
        ),
        (
            {"n": 4092},
            {},
            "mainloop=wgmma does not support this matmul: rows of b start at "
            "multiples of 8 bytes, and TMA requires multiples of 16; leave "
            "mainloop out",
        ),
        (
            {"lda": 2**39},
            {},
            "mainloop=wgmma does not support this matmul: a has a stride of 1099511627776 "
            "bytes; TMA requires less than 1099511627776; leave mainloop out",
        ),
        ({"ldc": 2**39}, {"tma_store": 1}, "the output's rows are 1099511627776 bytes apart"),
        (
            {"dtype": DType.F32},
            {},
            "mainloop=wgmma does not support this matmul: wgmma does not"
            " support dtype=f32 with math=exact; leave mainloop out",
        ),
    ],
)
def test_refusals(fields: dict[str, Any], schedule: dict[str, int], message: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        make(BIG.override(**schedule), **fields)


def test_other_targets_have_none() -> None:
    with pytest.raises(ScheduleError, match="sm_80 has no wgmma"):
        make(target="sm_80")


def test_the_choice_for_large_squares() -> None:
    spec = Matmul(m=4096, n=4096, k=4096)
    found = choose(spec, SM_90A)
    assert isinstance(found, WgmmaMatmul) and (found.block_m, found.block_n) == (128, 256)
    assert (found.num_workgroups, found.cluster_m, found.group_m) == (132, 2, 8) and found.tma_store
    assert predict(spec, SM_90A, found).seconds < predict(spec, SM_90A, MMA).seconds


def test_the_choice_where_outputs_are_all_the_work() -> None:
    found = choose(Matmul(m=8192, n=8192, k=64), SM_90A)
    assert isinstance(found, WgmmaMatmul) and found.pingpong
    odd = choose(Matmul(m=8192, n=8192, k=64, ldc=8193), SM_90A)
    assert isinstance(odd, WgmmaMatmul) and not odd.tma_store


def test_what_options_save() -> None:
    """CTAs of a cluster read B from L2 once; persistent CTAs start once; in ping-pong one
    consumer stores while another multiplies."""
    spec = Matmul(m=4096, n=4096, k=512)

    def seconds(**fields: int) -> float:
        return predict(spec, SM_90A, BIG.override(**fields)).seconds

    plain, persistent = seconds(), seconds(num_workgroups=132, group_m=8)
    assert persistent < plain
    terms = [predict(spec, SM_90A, BIG.override(cluster_m=c)).terms for c in (1, 2)]
    assert terms[1]["l2"] == pytest.approx(terms[0]["l2"] * (128 + 128) / (128 + 256))
    narrow = {"block_n": 128, "num_workgroups": 132, "group_m": 8, "tma_store": 1}
    short = Matmul(m=4096, n=4096, k=64)
    one, two = (predict(short, SM_90A, BIG.override(pingpong=p, **narrow)).seconds for p in (0, 1))
    assert two < one


def test_fields_of_another_main_loop_ask_for_it() -> None:
    spec = Matmul(m=4096, n=4096, k=4096)
    found = pipeline.schedule_for(spec, SM_90A, {"warp_m": 64})
    assert isinstance(found, MmaMatmul) and found.warp_m == 64
    assert isinstance(pipeline.schedule_for(spec, SM_90A, {"num_stages": 3}), WgmmaMatmul)
    with pytest.raises(ScheduleError, match="zz=1 is not a field of the wgmma schedule"):
        pipeline.schedule_for(spec, SM_90A, {"zz": 1})


def test_rows_that_tma_cannot_take_go_through_mma() -> None:
    plan = pipeline.plan(Matmul(m=4096, n=4090, k=4096), SM_90A)
    assert isinstance(plan.schedule, MmaMatmul)
    assert FAMILY.remarks(plan)[-1] == (
        "mma.sync instead of wgmma: rows of b start at multiples of 4 bytes, and TMA requires "
        "multiples of 16"
    )
    sm_80 = pipeline.plan(plan.spec, BY_NAME["sm_80"])
    assert not any("wgmma" in line for line in FAMILY.remarks(sm_80))
