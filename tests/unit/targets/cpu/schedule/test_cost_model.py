"""CPU cost model: every prediction is a sum of its terms, and more work costs more."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgen import pipeline, targets
from kgen.schedule import BlockedMatmul, CpuMatmul, OuterMatmul
from kgen.spec import Conv2d, Matmul, text
from kgen.targets.base import Target
from kgen.targets.contraction.candidate_table import Space
from kgen.targets.contraction.implicit_gemm import implicit_gemm
from kgen.targets.cpu import FAMILY, cores
from kgen.targets.cpu.cores import coefficients, fitted
from kgen.targets.cpu.rates import TILE_PRODUCT
from kgen.targets.cpu.schedule import cost_model
from kgen.targets.cpu.schedule.cost_model import EventCounts, Prediction, best, candidates, predict
from kgen.targets.cpu.schedule.space import MatmulSpace, spaces
from tests.unit.targets.cpu.schedule.test_space import specs

#: A core that does not exist: rates, and the core whose fitted coefficients apply.
INVENTED = cores.Core(
    name="Invented",
    multiply_adds={16: 2, 32: 2, 64: 1},
    loads={16: 2, 32: 2, 64: 1},
    latency=6,
    clock=1e9,
    fitted_as="Zen 4",
)


def seconds(spec: Matmul, schedule: BlockedMatmul, name: str = "x86-64-v3") -> float:
    target = targets.find(name)
    return float(predict(spec, target, Space.of(schedule)).seconds[0])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=specs())
def test_predictions_are_finite_positive_sums(case: tuple[Matmul, Target]) -> None:
    spec, target = case
    for space in spaces(spec, target):
        found = predict(spec, target, space)
        assert found.seconds.shape == (len(space),)
        assert np.isfinite(found.seconds).all() and (found.seconds > 0).all()
        assert all(np.isfinite(cycles).all() for cycles in found.terms.values())
        assert all((cycles >= 0).all() for cycles in found.terms.values())


def test_winograd_reads_weights_anew_for_each_block_of_tiles() -> None:
    """Weights beyond the second-level cache come from a farther level for each block of tiles;
    smaller ones once, if the program reads more than that cache holds. A prefetch past a run of
    channels is late."""
    target = targets.find("x86-64-amx")

    def counted(channels: int, held: int = 0, **fields: int) -> EventCounts:
        conv = Conv2d(input=(1, channels, 14, 14), weights=(channels, channels, 3, 3), padding=1,
                      dtype="f32", constant=("b",), math="winograd2")  # fmt: skip
        given = {"mr": 7, "nr": 32, "mc": 49, "kc": channels, "nc": 64, "ahead": 1024}
        schedule = pipeline.plan_with(conv, target, {**given, "in_workspace": 1, **fields}).schedule
        assert isinstance(schedule, BlockedMatmul)
        return cost_model.counts_of(implicit_gemm(conv), target, Space.of(schedule), held=held)

    lines = 16 * 256 * 256 * 4 / 64
    for mc, times in ((49, 1), (28, 2), (14, 4)):
        found = counted(256, mc=mc)
        assert found.events["fetched_far"] == found.lines[0] == times * lines
        assert found.events["b_far"] == (times - 1) * lines and found.events["first_far"] == 0
    blocked = counted(256, kc=64)
    assert blocked.events["fetched_far"] == 3 * lines / 4
    assert blocked.events["first_far"] == lines / 4
    for held, place in ((0, "l2"), (8 << 20, "far"), (64 << 20, "memory")):
        found = counted(64, held, mc=14)
        assert found.events[f"fetched_{place}"] == lines / 16
        far, memory = found.lines
        assert far == (place == "far") * lines / 16 and memory == (place == "memory") * lines / 16
    assert found.apart > 0


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "x86-64-amx", "aarch64-neon"])
@pytest.mark.parametrize("axis", ["m", "n", "k", "batch"])
def test_more_work_costs_more(name: str, axis: str) -> None:
    """The larger product costs more with the best schedule of each, and in every main loop."""
    target = targets.find(name)
    small = Matmul(m=24, n=384, k=384, dtype="f32")
    larger = dataclasses.replace(
        small, **{axis: 4 * getattr(small, axis)}, lda=None, ldb=None, ldc=None,
        batch_stride_a=None, batch_stride_b=None, batch_stride_c=None,
    )  # fmt: skip
    for mainloop in {schedule.mainloop for schedule in FAMILY.alternatives(small, target)}:
        before, after = (candidates(s, target, None, mainloop, most=1) for s in (small, larger))
        if after:
            assert after[0].seconds > before[0].seconds, mainloop


def warm_seconds(found: Prediction, target: Target) -> Any:
    """Return the seconds of each candidate in one thread with warm caches."""
    return np.sum([*found.terms.values()], axis=0) / cores.core_of(target).clock


def test_a_batch_costs_its_matrices() -> None:
    spec, target = Matmul(m=24, n=384, k=384, dtype="f32"), targets.find("x86-64-v3")
    three = Matmul(m=24, n=384, k=384, dtype="f32", batch=3)
    (schedule,) = (found.schedule for found in candidates(spec, target, most=1))
    one, all_three = (predict(s, target, Space.of(schedule)) for s in (spec, three))
    assert all_three.terms["arithmetic"][0] == pytest.approx(3 * one.terms["arithmetic"][0])
    assert warm_seconds(all_three, target)[0] == pytest.approx(3 * warm_seconds(one, target)[0])


def test_arithmetic_is_no_less_than_the_rates_allow() -> None:
    """The rates are two multiply-adds of eight lanes per cycle with AVX2, and products of 16 x
    16 x 32 with AMX."""
    spec, target = Matmul(m=120, n=768, k=3072, dtype="f32"), targets.find("x86-64-v3")
    core = cores.core_of(target)
    for space in spaces(spec, target):
        arithmetic = predict(spec, target, space).terms["arithmetic"]
        assert (arithmetic >= 0.999 * spec.m * spec.n * spec.k / 8 / core.multiply_adds[32]).all()
    wide, amx = dataclasses.replace(spec, dtype="bf16"), targets.find("x86-64-amx")
    (tiles,) = spaces(wide, amx, mainloop="amx")
    least = spec.m * spec.n * spec.k / (16 * 16 * 32) * TILE_PRODUCT
    assert (predict(wide, amx, tiles).terms["arithmetic"] >= 0.999 * least).all()


def test_candidates_are_ranked_and_say_their_terms() -> None:
    spec, target = Matmul(m=64, n=1000, k=1000, dtype="f32"), targets.find("x86-64-v4")
    found = candidates(spec, target, most=50)
    assert len({each.schedule for each in found}) == 50
    objective = [seconds(spec, each.schedule, "x86-64-v4") for each in found]
    assert objective == sorted(objective)
    for each in found:
        cycles = each.seconds * cores.core_of(target).clock
        assert cycles == pytest.approx(sum(each.terms.values()))
    assert best(spec, target) == found[0].schedule == FAMILY.choose(spec, target)
    assert [c.schedule for c in FAMILY.candidates(spec, target)[:50]] == [
        each.schedule for each in found
    ]
    assert FAMILY.candidates(text.parse("relu 64 f32"), target) == ()


def test_a_prediction_that_is_no_number_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(spec: Matmul, target: Target, space: MatmulSpace) -> Prediction:
        found = predict(spec, target, space)
        seconds = found.seconds.copy()
        seconds[0] = np.nan
        return dataclasses.replace(found, seconds=seconds)

    monkeypatch.setattr(cost_model, "predict", changed)
    spec, target = Matmul(m=8, n=32, k=32, dtype="f32"), targets.find("x86-64-v3")
    first, _ = candidates(spec, target, most=2)
    assert candidates(spec, target, most=1) == (first,)


def test_a_target_without_a_legal_schedule_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "spaces", lambda *_: ())
    target = targets.find("x86-64-v3")
    conv = Conv2d(input=(1, 4, 5, 5), weights=(3, 4, 3, 3), dtype="f32")
    with pytest.raises(AssertionError, match=f"of x86-64-v3 fits {conv.product.key}"):
        cost_model.choose(conv.product, target)
    with pytest.raises(AssertionError, match=f"of x86-64-v3 fits {conv.key}"):
        FAMILY.choose(conv, target)


def test_any_schedule_of_a_matmul_is_predicted() -> None:
    """A candidate has the same prediction as in the ranking; measured schedules are seldom
    candidates."""
    spec, target = Matmul(m=64, n=1000, k=1000, dtype="f32"), targets.find("x86-64-v4")
    listed = FAMILY.candidates(spec, target)
    for each in (listed[0], listed[-1]):
        found = FAMILY.predicted(spec, target, each.schedule)
        assert found is not None and found.schedule == each.schedule
        assert found.seconds == pytest.approx(each.seconds)
        assert found.terms == pytest.approx(each.terms)
    for mainloop in ("blis", "ahead"):
        (slow,) = candidates(spec, target, {"mr": 1, "nr": 16}, mainloop, most=1)
        found = FAMILY.predicted(spec, target, slow.schedule)
        assert found is not None and found.seconds > listed[-1].seconds


def test_formulas_are_predicted() -> None:
    """The prediction counts instructions per vector (several for an exponential), and lines from
    the cache that holds them."""
    target = targets.find("x86-64-v3")

    def seconds(line: str) -> float:
        spec = text.parse(line)
        found = FAMILY.predicted(spec, target, FAMILY.choose(spec, target))
        assert found is not None
        return found.seconds

    assert seconds("relu 8000 f32") < seconds("gelu 8000 f32")
    assert seconds("relu 80 f32") < seconds("relu 8000 f32") / 10
    assert seconds("relu 80000000 f32") > 20000 * seconds("relu 8000 f32")
    assert seconds("softmax 64x100 f32") < seconds("softmax 64x200 f32")
    assert seconds("amax 64x100 f32") < seconds("softmax 64x100 f32") / 2


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=specs())
def test_every_counted_event_is_fitted(case: tuple[Matmul, Target]) -> None:
    """An event without coefficients would cost nothing."""
    spec, target = case
    for space in spaces(spec, target):
        counted = cost_model.counts_of(spec, target, space).events.keys()
        assert counted <= {name for term in fitted()["events"].values() for name in term}


def counted(spec: Matmul, schedule: BlockedMatmul, event: str) -> float:
    """Return how often an event happens with cold caches on x86-64-v4."""
    found = cost_model.counts_of(spec, targets.find("x86-64-v4"), Space.of(schedule), is_cold=True)
    return float(np.ravel(found.events[event])[0])


def test_vectors_of_unaligned_rows_are_loaded_from_two_lines() -> None:
    """A tile with many loads per product costs more; packed and aligned rows do not."""
    low = CpuMatmul(mr=1, nr=128, mc=6, kc=64, nc=128, pack_a=False, pack_b=False)
    high = low.override(mr=6, nr=64)
    unaligned, aligned = (Matmul(m=6, n=n, k=512, dtype="f32") for n in (1037, 1040))
    assert counted(unaligned, low, "straddles") > 6 * 512
    assert counted(unaligned, high, "straddles") == 0
    assert counted(unaligned, low.override(pack_b=1), "straddles") == 0
    assert counted(aligned, low, "straddles") == counted(aligned, low, "straddled_sums") == 0
    assert counted(unaligned, low.override(sums_in_out=1), "straddled_sums") > 0


def test_blocks_that_leave_the_second_level_cache_are_lost() -> None:
    """A pass over all tasks returns to a block of K after the others of the pass, while the next
    block is prefetched."""
    spec = Matmul(m=6, n=8192, k=4096, dtype="f32")
    block = CpuMatmul(mr=3, nr=64, mc=6, kc=64, nc=64, pack_a=False, pack_b=False)
    whole = block.override(sums_in_out=1, tasks_per_pass=128)
    assert counted(spec, whole, "lost") == 8192 * 4096 / 16
    assert counted(spec, whole.override(kc=16), "lost") > 0  # one block would fit, two do not
    assert counted(spec, block, "lost") == counted(spec, whole.override(kc=8), "lost") == 0
    panel = whole.override(prefetch_panel=1)
    for event, is_counted in (("lost", 0), ("blocks_rows", 0), ("panels_memory", 1)):
        assert (counted(spec, panel, event) > 0) == is_counted
    assert counted(spec, panel, "fetched_memory") == counted(spec, whole, "panels_memory") == 0


def test_steps_do_not_depend_on_prefetches() -> None:
    """The number of panels does not count as the field `prefetch_panel`."""
    spec = Matmul(m=12, n=256, k=128, dtype="f32")
    plain = CpuMatmul(mr=6, nr=64, mc=12, kc=64, nc=128, pack_a=False, pack_b=False)
    for event in ("steps", "tiles", "blocks_runs_memory", "panels_runs_memory"):
        found = [counted(spec, plain.override(prefetch_panel=on), event) for on in (0, 1)]
        assert max(found) > 0
        assert event.startswith(("blocks", "panels")) or found[0] == found[1]


def test_reads_of_a_and_out_are_counted() -> None:
    """Each block of K reads a run of each row of A; each panel writes a run of each row of out."""
    spec = Matmul(m=12, n=256, k=128, dtype="f32")
    plain = CpuMatmul(mr=6, nr=64, mc=12, kc=64, nc=128, pack_a=False, pack_b=False)
    assert counted(spec, plain, "a_runs_memory") == 12 * 2
    assert counted(spec, plain.override(pack_a=1), "packed_a_runs_memory") == 12 * 2
    assert counted(spec, plain.override(pack_a=1), "a_runs_memory") == 0
    assert counted(spec, plain, "out_runs_memory") == 12 * 4


def test_a_prefetch_of_rows_that_are_read_is_late() -> None:
    spec = Matmul(m=2, n=256, k=128, dtype="f32")
    rows = OuterMatmul(mr=2, nr=16, mc=2, kc=4, nc=256, parts=4, prefetch=1, apart=1, level=1)
    assert counted(spec, rows, "late") == 256 * 128 / 16
    assert counted(spec, rows.override(apart=4), "late") == 0
    assert counted(spec, rows.override(kc=64), "late") == 0


def test_a_sum_of_an_outer_product_waits_for_each_of_its_products() -> None:
    """A small N cannot hide the latency of multiply-adds along K; a large one can."""
    target = dataclasses.replace(targets.find("x86-64-v3"), device="Zen 4")
    rows = OuterMatmul(mr=1, nr=16, mc=1, kc=8, nc=16, parts=8)

    def arithmetic(n: int) -> float:
        spec = Matmul(m=1, n=n, k=128, dtype="f32")
        space: Space[BlockedMatmul] = Space.of(rows.override(nc=n))
        return float(cost_model.counts_of(spec, target, space).arithmetic[0])

    latency = cores.cores()["Zen 4"].latency
    assert arithmetic(16) == 128 * latency
    assert arithmetic(2048) == 2 * arithmetic(1024) > 128 * latency


def test_the_best_has_the_fixed_fields_and_the_main_loop() -> None:
    spec, target = Matmul(m=3, n=1024, k=1024, dtype="f32"), targets.find("x86-64-v3")
    found = best(spec, target, {"parts": 2, "prefetch": 0}, "outer")
    assert found is not None and found.mainloop == "outer"
    assert (getattr(found, "parts", 0), getattr(found, "prefetch", 1)) == (2, 0)
    assert best(spec, target, {}, "amx") is None


def test_alternatives_are_one_of_each_main_loop_and_way_of_packing() -> None:
    spec, target = Matmul(m=6, n=1024, k=1024, dtype="f32"), targets.find("x86-64-v3")
    found = [s for s in FAMILY.alternatives(spec, target) if isinstance(s, BlockedMatmul)]
    assert len(found) == len(FAMILY.alternatives(spec, target))
    kinds = {(s.mainloop, s.pack_a, s.pack_b) for s in found}
    assert {kind[0] for kind in kinds} == {"blis", "ahead", "split-k", "outer"}
    assert len(found) == len(kinds) and found[0] == best(spec, target)
    objective = [seconds(spec, schedule) for schedule in found]
    assert objective == sorted(objective)


def test_even_tasks_for_several_threads_are_preferred() -> None:
    """Blocks have equal cost for one thread: one task, two equal ones, and two unequal ones."""
    spec = Matmul(m=48, n=1536, k=768, dtype="f32")
    found = best(spec, targets.find("x86-64-v3"), {"mr": 6, "nr": 16, "pack_b": 0}, "blis")
    assert found is not None
    one, even, uneven = (
        seconds(spec, found.override(mc=48, nc=nc, kc=768, ahead=0)
                if hasattr(found, "ahead") else found.override(mc=48, nc=nc, kc=768))
        for nc in (1536, 768, 1200)
    )  # fmt: skip
    assert even < uneven < one


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=specs())
def test_a_new_core_needs_its_rates_only(case: tuple[Matmul, Target]) -> None:
    """The core of the test has no tuning file and no fitted data."""
    spec, target = case
    with pytest.MonkeyPatch.context() as patch:
        fitted = "Golden Cove" if target.has("amx_tile") else INVENTED.fitted_as
        core = dataclasses.replace(INVENTED, fitted_as=fitted)
        patch.setitem(cores.cores(), INVENTED.name, core)
        plan = pipeline.plan(spec, dataclasses.replace(target, device=INVENTED.name))
        assert isinstance(plan.schedule, BlockedMatmul)


@pytest.mark.parametrize("line", ["relu 3x1000 f32", "softmax 5x4096 f32", "var(x) 64x1024 f32"])
def test_rows_and_streams_are_planned_on_a_new_core(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cores.cores(), INVENTED.name, INVENTED)
    for name in ("x86-64-v3", "x86-64-v4", "aarch64-neon"):
        target = dataclasses.replace(targets.find(name), device=INVENTED.name)
        assert pipeline.plan(text.parse(line), target)


def test_every_core_has_fitted_coefficients() -> None:
    for core in cores.cores().values():
        for width in core.multiply_adds:
            assert str(width) in fitted()["cores"][core.fitted_as]
    used = {core.fitted_as for core in cores.cores().values()}
    assert fitted()["cores"].keys() == used


def test_rates_of_a_core_change_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = dataclasses.replace(INVENTED, multiply_adds={16: 0.5, 32: 0.5, 64: 0.5})
    spec, target = Matmul(m=48, n=768, k=768, dtype="f32"), targets.find("x86-64-v3")
    (space, *_) = spaces(spec, target)
    terms = []
    for core in (INVENTED, slow):
        monkeypatch.setitem(cores.cores(), INVENTED.name, core)
        there = dataclasses.replace(target, device=INVENTED.name)
        terms.append(predict(spec, there, space).terms["arithmetic"])
    assert (terms[1] > terms[0]).all()


@given(m=st.integers(1, 100), threads=st.sampled_from([2, 8]))
@settings(max_examples=10, deadline=None)
def test_the_busiest_thread_has_its_share(m: int, threads: int) -> None:
    spec, target = Matmul(m=m, n=1024, k=256, dtype="f32"), targets.find("x86-64-v3")
    for space in spaces(spec, target):
        share = cost_model._busiest(spec, space, threads)
        assert (share <= 1).all() and (share >= 1 / threads).all()


def test_a_core_measured_with_cold_caches_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """B then comes from memory, which raises the prediction of each candidate."""
    spec = Matmul(m=8, n=128, k=128, dtype="f32")
    target = dataclasses.replace(targets.find("x86-64-v4"), device="Zen 5")
    table = coefficients(target, CpuMatmul)
    assert table["error"] > 0
    monkeypatch.setattr(cores, "THREADS", ((1, 1.0),))
    for space in spaces(spec, target):
        warm, cold = (
            cost_model.counts_of(spec, target, space, is_cold=is_cold).events
            for is_cold in (False, True)
        )
        assert not warm.keys() & {"first_memory", "a_runs_memory", "fetched_memory"}
        assert not cold.keys() & {"first_l2", "a_runs_l2", "fetched_l2"}
        both = predict(spec, target, space).seconds
        with monkeypatch.context() as patch:
            patch.setattr(cost_model, "coefficients", lambda *of: {**table, "error": 0.0})
            assert (predict(spec, target, space).seconds < both).all()


def test_launches_are_shared_where_that_is_faster() -> None:
    def seconds(time: float, share: float) -> float:
        return float(np.exp(cores.log_seconds([time], lambda threads: share)))

    short, long = 0.9 * cores.ALONE, 20 * cores.ALONE
    assert seconds(short, 0.125) == seconds(short, 1.0) == pytest.approx(short)
    assert seconds(long, 1.0) == seconds(long, 0.99) == pytest.approx(long)
    assert seconds(long, 0.125) < 0.5 * long


def test_sums_in_scratch_memory_cost_a_pass_of_their_own() -> None:
    spec, target = Matmul(m=48, n=768, k=768, dtype="f32"), targets.find("x86-64-v4")
    blocks = {"mr": 6, "nr": 64, "mc": 48, "kc": 64, "nc": 768, "tasks_per_pass": 1}
    seconds = []
    for place in (1, 0):
        found = best(spec, target, {**blocks, "sums_in_out": place}, "blis")
        assert found is not None
        seconds.append(cost_model.predicted(spec, target, found).seconds)
    assert seconds[0] < seconds[1]


def test_whole_rows_of_b_follow_each_other_in_memory() -> None:
    """Blocks of half of the columns start a run in each row; whole rows are contiguous."""
    spec, target = Matmul(m=8, n=512, k=100, dtype="f32"), targets.find("x86-64-v4")
    runs = []
    for nc in (512, 256):
        blocks = {"mr": 8, "nr": 32, "mc": 8, "kc": 20, "nc": nc, "pack_b": 0, "tasks_per_pass": 1}
        found = best(spec, target, blocks, "blis")
        assert found is not None
        counts = cost_model.counts_of(spec, target, Space.of(found), is_cold=True)
        runs += [
            float(np.ravel(c)[0]) for name, c in counts.events.items() if name[-7:] == "_pieces"
        ]
    assert sorted(each for each in runs if each) == [50, 250]
