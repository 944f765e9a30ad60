"""The cost model of blocked CPU products: what it ranks, its terms, what it must find out."""

from __future__ import annotations

import dataclasses

import pytest

from kgen import targets
from kgen.schedule import BlockedMatmul, CpuMatmul
from kgen.spec import ConstantOperand, DType, Elementwise, Layout, Matmul, text
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.schedule.amx_blocks import CLOCK
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.cost_model import predict
from kgen.targets.cpu.schedule.ways import busiest

NAMES = ("x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "x86-64-amx", "aarch64-neon")
SHAPES = ((33, 70, 40), (64, 256, 784), (100, 1000, 1001), (128, 768, 3072), (512, 512, 512))


TERMS_OF_TILES = ("a", "b", "packing", "out", "tasks")


def product(m: int, n: int, k: int, dtype: DType = DType.F32, **fields: object) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype=dtype, **fields)  # type: ignore[arg-type]


def target(name: str) -> Target:
    return targets.find(name)


def cycles(spec: Matmul, schedule: CpuMatmul, name: str = "x86-64-v3") -> dict[str, float]:
    return dict(predict(spec, target(name), schedule).terms)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_candidate_is_chosen_and_all_fit(name: str) -> None:
    for shape in SHAPES:
        for dtype in (DType.F32, DType.F64, DType.BF16):
            for fields in ({}, {"layout": Layout.TN}, {"constant": (ConstantOperand.B,)}):
                spec = product(*shape, dtype, **fields)
                ranked = FAMILY.candidates(spec, target(name))
                if not ranked:
                    continue
                chosen = FAMILY.plan(spec, target(name), ranked[0].schedule).schedule
                assert chosen == next(
                    o for o in FAMILY.operations if isinstance(spec, o.spec)
                ).choose(spec, target(name))
                assert len({c.schedule for c in ranked}) == len(ranked)
                least = min(c.seconds for c in ranked)
                assert ranked[0].seconds <= 1.14 * least
                for candidate in ranked:
                    FAMILY.plan(spec, target(name), candidate.schedule)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_two_cores_have_as_much_to_do(name: str) -> None:
    """Where it costs one of them little: blocks of rows come out as 30 and 20, or as one."""
    for shape in (
        *((50, 768, 768), (49, 512, 2048), (197, 768, 768), (256, 3072, 768)),
        *((128, 128, 128), (33, 512, 512)),
    ):
        spec = product(*shape)
        schedule = FAMILY.candidates(spec, target(name))[0].schedule
        assert isinstance(schedule, BlockedMatmul)
        assert busiest(spec, schedule, 2) <= 0.54


def test_the_busiest_core_takes_the_next_task_when_it_is_done() -> None:
    def part(mc: int, nc: int, cores: int) -> float:
        schedule = CpuMatmul(mr=6, nr=16, mc=mc, kc=64, nc=nc, pack_a=False, pack_b=True)
        return busiest(product(50, 768, 64), schedule, cores)

    assert part(54, 768, 1) == part(54, 768, 2) == 1
    assert part(30, 768, 2) == 0.6
    assert part(54, 384, 2) == part(54, 192, 2) == 0.5
    assert part(54, 192, 3) == 0.5
    # 30 x 384, twice; then 20 x 384, twice
    assert part(30, 384, 2) == 0.5
    assert part(30, 384, 3) == 0.4


def test_seconds_are_those_of_the_terms() -> None:
    for name in ("x86-64-v3", "x86-64-v4"):
        for candidate in FAMILY.candidates(product(128, 768, 3072), target(name)):
            total = sum(candidate.terms.values()) / core_of(target(name)).clock
            assert candidate.seconds == pytest.approx(total)
    tiles = FAMILY.candidates(product(256, 256, 256, DType.BF16), target("x86-64-amx"))
    assert tiles and set(tiles[0].terms) == {"products", "tiles", *TERMS_OF_TILES}
    for candidate in tiles:
        assert candidate.seconds == pytest.approx(sum(candidate.terms.values()) / CLOCK)


def test_what_no_model_ranks() -> None:
    relu = text.parse("relu 64 f32")
    assert isinstance(relu, Elementwise)
    for spec in (relu, product(1, 4096, 4096), product(8, 64, 64, layout=Layout.NT)):
        assert FAMILY.candidates(spec, target("x86-64-v3")) == ()


SCHEDULE = CpuMatmul(mr=6, nr=16, mc=132, kc=256, nc=768, pack_a=False, pack_b=True)


def test_terms_say_what_a_field_changes() -> None:
    """Each of these trades one term for another."""
    spec = product(128, 768, 3072)
    found = cycles(spec, SCHEDULE)
    assert found["sums"] > 0
    whole = cycles(spec, SCHEDULE.override(kc=3072, nc=16))
    assert whole["b"] > found["b"] and whole["sums"] == 0 and whole["tiles"] < found["tiles"]
    packed = cycles(spec, SCHEDULE.override(pack_a=True))
    assert packed["packing"] > found["packing"] and packed["a"] < found["a"]
    narrow = cycles(spec, SCHEDULE.override(kc=96, nc=96))
    wide = cycles(spec, SCHEDULE.override(kc=96))
    assert narrow["memory"] > wide["memory"] and narrow["sums"] < wide["sums"]
    halves = cycles(spec, SCHEDULE.override(mc=66))
    assert halves["packing"] > found["packing"] and halves["tasks"] == 2 * found["tasks"]
    other = product(128, 768, 3000)  # Rows of A that do not meet in a cache set.
    assert cycles(other, SCHEDULE)["a"] / 3000 < found["a"] / 3072


def test_rows_that_are_no_whole_lines_cost_loads_of_a_b_in_place() -> None:
    """1.26 times as much in 100 x 1000 x 1000 (Golden Cove)."""
    wide = dataclasses.replace(target("x86-64-v4"), device="Golden Cove")
    schedule = CpuMatmul(mr=9, nr=48, mc=108, kc=192, nc=1008, pack_a=False, pack_b=False)
    found = [
        predict(product(100, 1000, 1000, ldb=ldb), wide, schedule.override(pack_b=packs))
        for ldb, packs in ((None, 0), (1008, 0), (None, 1))
    ]
    across, lines, packed = (prediction.terms["products"] for prediction in found)
    assert across > 1.02 * lines and lines == packed


def test_tasks_that_are_one_pass_read_once() -> None:
    """Blocks of columns cost one thread next to nothing where sums are in out."""
    wide = dataclasses.replace(target("x86-64-amx"), features=target("x86-64-v4").features)
    spec = product(128, 768, 3072)
    schedule = CpuMatmul(mr=6, nr=64, mc=132, kc=128, nc=768, pack_a=False, pack_b=True)
    whole, halves = (predict(spec, wide, schedule.override(nc=nc)).terms for nc in (768, 384))
    assert halves == whole
    scratch = predict(spec, wide, schedule.override(nc=384, kc=64)).terms
    assert scratch["memory"] > whole["memory"]


def golden_cove() -> Target:
    return dataclasses.replace(target("x86-64-v4"), device="Golden Cove")


def test_rows_of_a_that_meet_in_cache_sets_do_not_stay_in_a_cache() -> None:
    """32 rows of 96 numbers have room in the first-level cache beside a panel of B, but not where
    they begin 4 KB apart, unless they are packed."""
    schedule = CpuMatmul(mr=8, nr=32, mc=32, kc=96, nc=1024, pack_a=False, pack_b=True)
    found = [
        predict(product(32, 1024, 1024, lda=lda), golden_cove(), schedule.override(pack_a=packs))
        for lda, packs in ((None, 0), (1024 + 96, 0), (None, 1))
    ]
    meet, apart, packed = (prediction.terms["a"] for prediction in found)
    assert meet > apart == packed == 0


def test_rows_of_a_that_leave_the_second_level_cache_are_read_in_every_pass() -> None:
    schedule = CpuMatmul(mr=9, nr=48, mc=261, kc=128, nc=768, pack_a=False, pack_b=True)
    for k, again in ((512, 0), (3072, 1)):
        whole, halves = (
            predict(product(256, 3072, k), golden_cove(), schedule.override(nc=nc)).terms["a"]
            for nc in (3072, 1536)
        )
        assert (halves > whole) == bool(again)


def test_tall_products_are_compared_in_tall_blocks_unless_b_comes_packed() -> None:
    """512 x 4096 x 1024 takes 25.5 ms in them, 30.8 otherwise (Golden Cove)."""
    for constant, tall in (((), True), ((ConstantOperand.B,), False)):
        spec = product(512, 4096, 1024, constant=constant)
        blocks = {c.schedule for c in FAMILY.candidates(spec, golden_cove())}
        depths = {s.kc for s in blocks if isinstance(s, BlockedMatmul) and s.mc > 132}
        assert (depths == {1024}) == tall
    low = FAMILY.candidates(product(256, 4096, 1024), golden_cove())
    assert {c.schedule.kc for c in low if isinstance(c.schedule, BlockedMatmul)} >= {128, 192}


def test_what_is_there_twice_costs_twice() -> None:
    spec = product(128, 768, 3072)
    assert predict(dataclasses.replace(spec, batch=2), target("x86-64-v3"), SCHEDULE).seconds == (
        2 * predict(spec, target("x86-64-v3"), SCHEDULE).seconds
    )


def test_arithmetic_is_the_least_that_a_product_takes() -> None:
    """At the peak: two multiply-adds of eight lanes a cycle, or one of sixteen."""
    for name, lanes in (("x86-64-v3", 16), ("x86-64-v4", 16), ("aarch64-neon", 8)):
        spec = product(120, 768, 3072)
        for candidate in FAMILY.candidates(spec, target(name)):
            assert candidate.terms["products"] >= spec.m * spec.n * spec.k / lanes


def test_a_large_b_is_not_packed_again_for_further_rows() -> None:
    """256 x 3072 x 768 takes 13.3 ms packed by three blocks of rows, 11.7 by one or in place
    (AVX-512, Zen 4)."""
    schedule = FAMILY.candidates(product(256, 3072, 768), target("x86-64-v4"))[0].schedule
    assert isinstance(schedule, BlockedMatmul)
    assert schedule.mc >= 256 or not schedule.pack_b


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((197, 768, 3072), "x86-64-v3"),
        # In place: the fastest known of 128 x 768 x 3072 takes 5.5 ms, 5.7 packed (Zen 4).
        ((128, 768, 3072), "x86-64-v4"),
        ((64, 2304, 768), "x86-64-v4"),
    ],
)
def test_long_k_is_cut_where_a_panel_leaves_the_first_cache(
    shape: tuple[int, int, int], name: str
) -> None:
    spec = product(*shape)
    schedule = FAMILY.candidates(spec, target(name))[0].schedule
    assert isinstance(schedule, BlockedMatmul)
    assert schedule.kc < spec.k and schedule.pack_b == (name == "x86-64-v3")


@pytest.mark.parametrize("shape", [(128, 2048, 2048), (197, 768, 3072)])
def test_a_b_that_comes_packed_is_read_once_along_all_of_k(shape: tuple[int, int, int]) -> None:
    """128 x 2048 x 2048 takes 9.6 ms so, 10.1 to 10.4 in blocks of K, A packed (AVX-512, Zen 4)."""
    spec = product(*shape, constant=(ConstantOperand.B,))
    schedule = FAMILY.candidates(spec, target("x86-64-v4"))[0].schedule
    assert isinstance(schedule, BlockedMatmul)
    assert not schedule.pack_a and schedule.kc == spec.k and schedule.mc >= spec.m


def test_register_tiles_are_counted_as_kernels_make_them() -> None:
    """With AVX2 50 rows are tiles of 6 and 5, not of 5 alone; blocks of rows have a rest."""
    for rows, height in ((31, 6), (50, 6), (13, 5)):
        (first, *_) = FAMILY.candidates(product(rows, 200, 200), target("x86-64-v3"))
        assert isinstance(first.schedule, BlockedMatmul)
        assert first.schedule.mr == height
    whole = CpuMatmul(mr=6, nr=16, mc=36, kc=384, nc=64, pack_a=False, pack_b=True)
    level = predict(product(31, 512, 384), target("x86-64-v3"), whole)
    taller = predict(product(36, 512, 384), target("x86-64-v3"), whole)
    # Six tiles each; a row of 31 that is a tile by itself would take as long as three.
    assert level.terms["products"] / taller.terms["products"] == pytest.approx(31 / 36, abs=0.01)


def test_a_further_pass_over_a_large_b_costs_no_less_in_one_block_of_k() -> None:
    spec, name = product(197, 2304, 768), "x86-64-v4"
    further = []
    for kc in (384, 768):
        once, twice = (
            CpuMatmul(mr=9, nr=48, mc=mc, kc=kc, nc=576, pack_a=False, pack_b=False)
            for mc in (198, 99)
        )
        further.append(cycles(spec, twice, name)["memory"] - cycles(spec, once, name)["memory"])
    assert further[1] >= further[0] > 0


def test_tall_products_are_packed_in_long_blocks_of_k() -> None:
    """2048 x 2048 x 2048 takes 164 ms so, 170 in blocks of 352 of K, and 240 with B in place along
    all of K, which the model would take (AVX-512, Zen 4)."""
    schedule = FAMILY.candidates(product(2048, 2048, 2048), target("x86-64-v4"))[0].schedule
    assert isinstance(schedule, BlockedMatmul)
    assert schedule.pack_b and schedule.kc == 1024 and schedule.mc >= 512
