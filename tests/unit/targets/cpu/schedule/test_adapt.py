"""Measured schedules made legal for other sizes, and fields that a user left open."""

from __future__ import annotations

import dataclasses
import functools

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from kgen import pipeline, targets
from kgen.schedule import AheadMatmul, BlockedMatmul, CpuMatmul, ScheduleOrigin
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.schedule.adapt import GIVEN_UP, adapted, completed
from kgen.targets.cpu.schedule.cost_model import best
from kgen.targets.cpu.schedule.space import spaces

SIZES = st.tuples(st.integers(1, 300), st.integers(1, 3000), st.integers(1, 3000))
KINDS = [
    ("x86-64-v3", {"dtype": DType.F32}),
    ("x86-64-v3", {"dtype": DType.F32, "layout": Layout.NT}),
    ("x86-64-v3", {"dtype": DType.F32, "constant": (ConstantOperand.B,)}),
    ("x86-64-v4", {"dtype": DType.F32, "layout": Layout.TN}),
    ("x86-64-v4+bf16", {"dtype": DType.BF16}),
    ("x86-64-v4+vnni", {"dtype": DType.S8}),
    ("x86-64-amx", {"dtype": DType.BF16}),
    ("x86-64-v4+vnni", {"dtype": DType.F32, "b_dtype": "s8", "constant": (ConstantOperand.B,)}),
    ("aarch64-neon", {"dtype": DType.F32}),
]


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@example(kind=KINDS[0], measured=(1, 105, 105), wanted=(1, 1, 105), row=30500)
@given(kind=st.sampled_from(KINDS), measured=SIZES, wanted=SIZES, row=st.integers(0, 1 << 30))
def test_adapted_schedules_plan(
    kind: tuple[str, dict[str, object]],
    measured: tuple[int, int, int],
    wanted: tuple[int, int, int],
    row: int,
) -> None:
    name, fields = kind
    target = targets.find(name)
    spec, other = (
        Matmul(m=m, n=n, k=k, **fields)  # type: ignore[arg-type]
        for m, n, k in (measured, wanted)
    )
    for space in spaces(spec, target):
        found = adapted(other, target, space.schedule(row % len(space)), measured)
        if found.mainloop in {s.mainloop for s in FAMILY.alternatives(other, target)}:
            assert FAMILY.plan(other, target, found).schedule == found


@pytest.mark.parametrize(("name", "fields"), KINDS)
def test_the_same_sizes_give_the_same_schedule(name: str, fields: dict[str, object]) -> None:
    target, sizes = targets.find(name), (24, 640, 768)
    spec = Matmul(m=24, n=640, k=768, **fields)  # type: ignore[arg-type]
    found = best(spec, target)
    assert found is not None
    tuned = dataclasses.replace(found, origin=ScheduleOrigin.TUNED)
    again = adapted(spec, target, tuned, sizes)
    assert again == tuned and again.origin is ScheduleOrigin.TUNED


def test_a_block_that_was_a_whole_extent_stays_one() -> None:
    target = targets.find("x86-64-v3")
    measured = CpuMatmul(mr=6, nr=16, mc=48, kc=512, nc=640, pack_a=False, pack_b=True)
    found = adapted(Matmul(m=60, n=800, k=700, dtype="f32"), target, measured, (48, 640, 512))
    assert (found.mr, found.nr, found.mc, found.kc, found.nc) == (6, 16, 60, 700, 800)
    cut = measured.override(mc=24, kc=128, nc=320, sums_in_out=1)
    found = adapted(Matmul(m=96, n=1280, k=1024, dtype="f32"), target, cut, (48, 640, 512))
    assert (found.mc, found.kc, found.nc, found.pack_b) == (24, 128, 320, True)


def test_distances_are_rows_of_the_new_matrix() -> None:
    target = targets.find("x86-64-v4")
    measured = AheadMatmul(
        mr=6, nr=64, mc=6, kc=256, nc=1024, pack_a=False, pack_b=False, ahead=32 * 1024 * 4
    )
    found = adapted(Matmul(m=6, n=768, k=256, dtype="f32"), target, measured, (6, 1024, 256))
    assert isinstance(found, AheadMatmul) and found.ahead == 32 * 768 * 4


#: Sizes with and without remainders, of one block and of several.
COMPLETED = [(1, 2000), (7, 300), (64, 512), (300, 1999)]


@functools.cache
def chosen(m: int, k: int) -> tuple[Matmul, BlockedMatmul]:
    spec = Matmul(m=m, n=640, k=k, dtype="f32")
    schedule = best(spec, targets.find("x86-64-v3"))
    assert isinstance(schedule, BlockedMatmul)
    return spec, schedule


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=st.sampled_from(COMPLETED),
    given_fields=st.sets(st.sampled_from(["mr", "nr", "mc", "kc", "nc", *GIVEN_UP[0]])),
)
def test_completed_keeps_the_given_fields(sizes: tuple[int, int], given_fields: set[str]) -> None:
    (spec, schedule), target = chosen(*sizes), targets.find("x86-64-v3")
    found = completed(spec, target, schedule, given_fields)
    kept = {name for name in schedule.names if name in given_fields or name not in GIVEN_UP[0]}
    assert {n: getattr(found, n, None) for n in kept} == {n: getattr(schedule, n) for n in kept}
    assert FAMILY.plan(spec, target, found)


def test_completed_chooses_the_dependent_fields() -> None:
    """Partial sums are in the output only between blocks of K; a schedule that does not fit is
    returned unchanged."""
    target = targets.find("x86-64-v3")
    spec = Matmul(m=512, n=512, k=2048, dtype="f32")
    in_out = CpuMatmul(mr=6, nr=16, mc=132, kc=256, nc=512, pack_b=True, pack_a=False)
    wrong = in_out.override(kc=2048, sums_in_out=1)
    assert not getattr(completed(spec, target, wrong, ()), "sums_in_out", True)
    assert completed(spec, target, wrong, ("sums_in_out",)) == wrong
    illegal = in_out.override(mr=40, mc=120)
    assert completed(spec, target, illegal, ()) == illegal


def test_a_user_sets_a_field_and_the_others_follow() -> None:
    spec, target = Matmul(m=512, n=512, k=2048, dtype="f32"), targets.find("x86-64-v3")
    for fields in ({"mainloop": "outer"}, {"pack_b": 0, "nr": 16}):
        if fields.get("mainloop") == "outer":
            spec = dataclasses.replace(spec, m=2)
        found = pipeline.schedule_for(spec, target, fields)
        assert {name: getattr(found, name) for name in fields} == fields
        assert pipeline.plan(spec, target, found)
