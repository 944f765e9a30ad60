"""CPU kernels depend only on the spec, the target and the schedule."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul, CpuMatmul, DotMatmul, Overrides, Schedule
from kgen.spec import DType, Matmul, Spec, text
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.amx.matmul import AmxPlan
from kgen.targets.cpu.plan.kernels.blis import BlisPlan
from kgen.targets.cpu.plan.kernels.dot import DotPlan
from kgen.tune.local_search import neighbours

SPEC = Matmul(m=64, n=64, k=64, dtype=DType.BF16, out_dtype=DType.F32)


@pytest.mark.parametrize(
    ("schedule", "planned", "reason"),
    [
        (CpuMatmul(mr=4, nr=16, mc=8, kc=64, nc=32), BlisPlan, "one fused multiply-add per term"),
        (DotMatmul(mr=4, nr=16, mc=8, kc=64, nc=32), DotPlan, "vdpbf16ps adds pairs"),
        (AmxMatmul(mr=32, nr=32, mc=64, kc=64, nc=64), AmxPlan, "tdpbf16ps adds pairs"),
    ],
)
def test_the_schedule_selects_the_plan_and_the_reason_of_the_tolerance(
    schedule: Schedule, planned: type, reason: str
) -> None:
    target = targets.find("x86-64-amx")
    assert type(pipeline.plan(SPEC, target, schedule)) is planned
    assert reason in FAMILY.tolerance(SPEC, target, schedule).reason


LARGE = Matmul(m=512, n=512, k=2048, dtype=DType.F32)


@pytest.mark.parametrize(
    ("spec", "fields", "message"),
    [
        (LARGE, {"kc": 2048, "sums_in_out": 1}, "try sums_in_out=0"),
        (LARGE, {"sums_in_out": 0, "nc": 64, "tasks_per_pass": 2}, "try tasks_per_pass=1"),
        (LARGE, {"pack_b": 1, "prefetch_panel": 1}, "try prefetch_panel=0"),
        (text.parse("softmax 64x1000 f64"), {"online": 1}, "try online=0"),
        (text.parse("var(x) 64x100 f32"), {"variance_head": 32}, "try variance_head=0"),
        (text.parse("var(x) 64x9000 f32"), {"variance_head": 64}, "try variance_head=0"),
        (text.parse("softmax 64x1000 f32"), {"kept_bytes": 1 << 20}, "try kept_bytes=262144"),
        (text.parse("sum(x) 64x1000 f32"), {"keep_in_output": 1}, "try keep_in_output=0"),
        (text.parse("softmax 64x1000 f32"), {"prefetch": 2048}, "try prefetch=0"),
        (text.parse("softmax 64x3 f32"), {"prefetch_next_row": 1}, "try prefetch_next_row=0"),
    ],
)
def test_fields_that_do_not_fit_are_refused(
    spec: Spec, fields: dict[str, int], message: str
) -> None:
    target = targets.find("x86-64-v3")
    with pytest.raises(ScheduleError, match=message):
        pipeline.plan(spec, target, pipeline.schedule_for(spec, target, fields))


SMALL = Matmul(m=64, n=96, k=128, dtype=DType.F32)
TILES = Matmul(m=96, n=64, k=128, dtype=DType.BF16)


@pytest.mark.parametrize(
    ("name", "spec", "given", "changed"),
    [
        ("x86-64-v3", SMALL, {"mr": 3, "nr": 24, "mc": 66, "pack_b": 1}, {"packing_ahead": 9}),
        ("x86-64-v3", SMALL, {"nr": 16, "pack_b": 1}, {"packing_ahead_narrow": 9}),
        ("x86-64-v3", SMALL, {"mc": 12, "kc": 128, "pack_a": 0, "pack_b": 1}, {"keep_b": 0}),
        (
            "x86-64-v3",
            Matmul(m=1, n=64, k=64, dtype=DType.BF16, constant=("b",)),
            {},
            {"pair_sums": 0},
        ),
        ("x86-64-v4+bf16", SPEC, {"mainloop": "dot", "nr": 16, "pack_b": 1}, {"packing_ahead": 9}),
        ("x86-64-amx", TILES, {"mainloop": "amx", "mr": 32, "nr": 32, "mc": 96}, {"packer": 0}),
        ("x86-64-amx", TILES, {"mainloop": "amx", "mr": 32, "mc": 32}, {"band_groups": 4}),
        ("x86-64-amx", TILES, {"mainloop": "amx", "pack_a": 1}, {"a_in_workspace": 1}),
        ("x86-64-v3", text.parse("relu 8x4096 f32"), {"nontemporal": 1}, {"prefetch": 0}),
        ("x86-64-v3", text.parse("softmax 8x4096 f32"), {}, {"kept_bytes": 0}),
        (
            "x86-64-v3",
            text.parse("var(x) 8x4096 f32"),
            {"variance_head": 128},
            {"variance_head": 0},
        ),
        ("x86-64-v3", text.parse("var(x) 1x600000 f32"), {}, {"variance_head": 0}),
    ],
)
def test_each_field_changes_the_kernel(
    name: str, spec: Spec, given: Overrides, changed: dict[str, int]
) -> None:
    target = targets.find(name)
    schedule = pipeline.schedule_for(spec, target, given)
    field, value = next(iter(changed.items()))
    assert getattr(schedule, field) != value
    both = [pipeline.plan(spec, target, s) for s in (schedule, schedule.override(**changed))]
    codes = [re.sub(r";.*", "", pipeline.source(plan).text) for plan in both]
    assert codes[0] != codes[1]


BLOCKS: Overrides = {"mr": 6, "nr": 16, "mc": 132, "nc": 256, "pack_a": 0, "pack_b": 1}


def test_a_field_that_a_user_sets_changes_those_that_follow_from_it() -> None:
    target = targets.find("x86-64-v3")
    fields: Overrides = {"mainloop": "blis", **BLOCKS}
    whole = pipeline.schedule_for(LARGE, target, {**fields, "kc": 2048})
    kept = pipeline.schedule_for(LARGE, target, {**fields, "kc": 256, "sums_in_out": 0})
    assert [s.to_json()["sums_in_out"] for s in (whole, kept)] == [False, False]
    assert [pipeline.plan(LARGE, target, s).schedule for s in (whole, kept)] == [whole, kept]


def test_former_names_of_fields_are_refused_with_the_new_name() -> None:
    spec, target = Matmul(m=2, n=1008, k=2048, dtype=DType.F32), targets.find("x86-64-v3")
    with pytest.raises(ScheduleError, match="together=3 is called tasks_per_pass now"):
        pipeline.schedule_for(spec, target, {"mainloop": "outer", "together": 3})


def test_tuning_tries_the_fields_that_caches_decide() -> None:
    schedule = CpuMatmul(mr=6, nr=16, mc=132, kc=256, nc=256, pack_a=False, pack_b=False)
    plan = pipeline.plan(LARGE, targets.find("x86-64-v3"), schedule)
    near = list(neighbours(plan))
    for name in ("sums_in_out", "tasks_per_pass", "prefetch_panel"):
        assert len({getattr(s, name) for s in near if isinstance(s, CpuMatmul)}) > 1, name
