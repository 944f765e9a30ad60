"""AMD row-wise plans: exchanging lanes, unique names, schedules that fit."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.schedule import GpuRows
from kgen.spec import DType, Elementwise, Rowwise
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.plan import plan
from kgen.targets.amdgpu.plan.rows.pointers import moved, moves
from kgen.targets.amdgpu.plan.rows.rowwise import RowwisePlan
from kgen.targets.base import Target

TARGETS = {t.name: t for t in FAMILY.targets}
GFX942, GFX1100 = TARGETS["gfx942"], TARGETS["gfx1100"]
LAYER_NORM = "layer_norm(x, scale, shift)"


def rowwise(expression: str, *shapes: tuple[int, ...], **fields: Any) -> Rowwise:
    return Rowwise(expression=expression, shapes=shapes, **fields)


def planned(spec: Rowwise, schedule: GpuRows | None = None, target: Target = GFX942) -> RowwisePlan:
    chosen = schedule or FAMILY.choose(spec, target)
    made = plan(spec, target, chosen)
    assert isinstance(made, RowwisePlan)
    return made


def text(spec: Rowwise, schedule: GpuRows | None = None) -> str:
    return pipeline.source(planned(spec, schedule)).text


@pytest.mark.parametrize("threads", [1, 4, 64, 256, 1024])
@pytest.mark.parametrize("target", [GFX942, GFX1100], ids=lambda t: t.name)
def test_the_exchange_reaches_every_thread_of_the_row(target: Target, threads: int) -> None:
    schedule = GpuRows(num_threads=threads, vector=1, resident=0)
    p = planned(rowwise("sum(x)", (1, 4096)), schedule, target)
    reached = {0}
    for distance in p.distances:
        reached |= {lane ^ distance for lane in reached}
    assert len(reached) * p.row_waves == threads
    assert p.has_barriers == (threads > target.subgroup)


#: What the template has to name: loops and places, folds of one phase and of several, lanes that
#: lack something, coordinates, and inputs called like what the template itself names.
KERNELS: dict[str, tuple[Rowwise, GpuRows | None]] = {
    "odd": (rowwise(LAYER_NORM, (5, 70), (70,), (70,)), None),
    "streamed": (rowwise(LAYER_NORM, (2, 50000), (50000,), (50000,)), None),
    "32-vectors-of-two-sums": (
        rowwise("layer_norm(x * x)", (1, 8191)),
        GpuRows(num_threads=256),
    ),
    "two-folds": (rowwise("amax(x) - amin(x)", (3, 700), dtype="f32"), None),
    "one-thread": (rowwise("softmax(x)", (1, 8)), None),
    "one-column": (rowwise("argmax(x)", (130, 1)), None),
    "idle-lanes": (
        rowwise("log_softmax(x)", (3, 37)),
        GpuRows(num_threads=128, rows_per_block=2, resident=0),
    ),
    "reduced-loop": (rowwise("mean(x)", (3, 37)), GpuRows(num_threads=128, resident=0)),
    "coordinates": (rowwise(LAYER_NORM, (2, 3, 4, 10), (3, 4, 1), (3, 4, 1), axes=(2, 3)), None),
    "coordinates-in-a-loop": (
        rowwise(LAYER_NORM, (2, 3, 4, 10), (3, 4, 1), (3, 4, 1), axes=(2, 3)),
        GpuRows(num_threads=16, vector=2, resident=0),
    ),
    "causal": (
        rowwise("softmax(where(column <= row, x + mask, -inf))", (2, 3, 16, 16), (2, 1, 1, 16)),
        None,
    ),
    "truth-of-a-row": (rowwise("where(mean(x) > s, x, 0)", (7, 24), (7, 1)), None),
    "value-of-a-row": (rowwise("mean(x) * s", (7, 9), (7, 1)), None),
    "names": (
        rowwise("softmax(thread + block * lane + first + entry + v0 + wave_in_row)", (3, 96)),
        GpuRows(num_threads=256, rows_per_block=2, vector=2),
    ),
    "names-in-a-loop": (
        rowwise("softmax(index + before + more + wide + lanes + columns + at + x)", (3, 96)),
        GpuRows(num_threads=256, rows_per_block=2, vector=2, resident=0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_llvm_takes_the_kernel_and_what_it_declares_is_used(name: str) -> None:
    source = text(*KERNELS[name])
    llvm.parse_assembly(source).verify()
    called = Counter(re.findall(r"call .*?@(llvm\.[\w.]+)\(", source))
    declared = re.findall(r"^declare .*?@(llvm\.[\w.]+)\(", source, re.MULTILINE)
    assert sorted(declared) == sorted(called)
    assert ("!fpmath" in source) == ("!9 = " in source)
    # Nothing is computed that changes nothing.
    assert not re.findall(
        r"(add|or|xor|shl|lshr)\b.* 0$|(mul|udiv|urem)\b.* i\d+ .*, 1$", source, re.M
    )


def test_elementwise_inputs_may_be_named_like_what_the_template_names() -> None:
    spec = Elementwise(expression="thread + block * entry + exit + is_last + rest", shapes=((9,),))
    found = FAMILY.plan(spec, GFX942, FAMILY.choose(spec, GFX942))
    llvm.parse_assembly(pipeline.source(found).text).verify()


def test_a_barrier_for_each_phase_whatever_it_folds() -> None:
    source = text(rowwise("amax(x) - amin(x) + mean(x)", (3, 4096)))
    assert source.count("call void @llvm.amdgcn.s.barrier") == 1
    assert source.count("internal addrspace(3) global") == 3


def test_lanes_are_summed_in_any_order() -> None:
    source = text(rowwise("softmax(x)", (3, 4096)))
    ordered = re.findall(r"call float @llvm\.vector\.reduce\.f(?:add|mul)", source)
    assert not ordered and source.count("call reassoc float @llvm.vector.reduce.fadd") == 2


def test_rows_and_threads_that_are_alone_need_no_division() -> None:
    alone = text(rowwise("softmax(x)", (3, 8192)))
    assert "udiv" not in alone and "urem" not in alone
    assert "udiv" not in text(rowwise("softmax(x)", (300, 8)))


def test_pointers_move_by_coordinates() -> None:
    found = moves("%x.row", "%x.ptr", [("%row.at0", 12), ("%row.at2", 1)])
    assert [(m.base, m.step("half"), m.count, m.result) for m in found] == [
        ("%x.ptr", "[12 x half]", "%row.at0", "%x.row0"),
        ("%x.row0", "half", "%row.at2", "%x.row"),
    ]
    assert moved("%x.ptr", found) == "%x.row"
    assert moves("%x.row", "%x.ptr", [("0", 8)]) == ()
    assert moved("%x.ptr", ()) == "%x.ptr"


#: (schedule that does not fit rows of 100 f16, what the message must say)
MISFITS = (
    (GpuRows(num_threads=64, vector=8), r"try vector=4"),
    (
        GpuRows(num_threads=96),
        "num_threads=96 with rows_per_block=1 gives each row 96 threads, which is not a "
        "power of two; try num_threads=64",
    ),
    (GpuRows(num_threads=1), r"keeps 100 values of a row of 100 in each of 1 .*try resident=0"),
    (GpuRows(num_threads=2048), r"try num_threads=1024"),
)


@pytest.mark.parametrize(("schedule", "words"), MISFITS)
def test_misfits_name_the_limit_and_a_remedy(schedule: GpuRows, words: str) -> None:
    with pytest.raises(ScheduleError, match=words) as error:
        planned(rowwise("softmax(x)", (2, 100)), schedule)
    remedy = dict(re.findall(r"(\w+)=(\d+)", str(error.value).partition("; try ")[2]))
    if remedy:
        planned(
            rowwise("softmax(x)", (2, 100)),
            schedule.override(**{key: int(value) for key, value in remedy.items()}),
        )


@settings(max_examples=100, deadline=None)
@given(
    expression=st.sampled_from(["softmax(x)", "sum(x)", LAYER_NORM, "argmin(x)"]),
    rows=st.integers(1, 2**31 - 1),
    cols=st.one_of(st.integers(1, 131072), st.integers(1, 2**24)),
    dtype=st.sampled_from([DType.F32, DType.F16, DType.BF16]),
    target=st.sampled_from(FAMILY.targets),
)
def test_every_spec_has_a_schedule_that_fits(
    expression: str, rows: int, cols: int, dtype: DType, target: Target
) -> None:
    weights = [(cols,), (cols,)] if expression == LAYER_NORM else []
    planned(rowwise(expression, (rows, cols), *weights, dtype=dtype), None, target)


@pytest.mark.parametrize(
    ("expression", "cols", "resident", "rows_per_block"),
    [
        ("softmax(x)", 1, 1, 256),
        ("softmax(x)", 1000, 1, 2),
        ("softmax(x)", 8192, 1, 1),
        ("softmax(x)", 131072, 0, 1),
        (LAYER_NORM, 32768, 1, 1),
        # Nothing is kept, so there is nothing to gain from more text.
        ("sum(x)", 131072, 0, 1),
    ],
)
def test_short_rows_are_kept(
    expression: str, cols: int, resident: int, rows_per_block: int
) -> None:
    weights = [(cols,), (cols,)] if expression == LAYER_NORM else []
    schedule = planned(rowwise(expression, (4096, cols), *weights)).schedule
    assert (schedule.resident, schedule.rows_per_block) == (resident, rows_per_block)


def test_a_reduced_result_does_not_narrow_accesses() -> None:
    assert planned(rowwise("argmax(x)", (64, 1024))).schedule.vector == 8
    assert planned(rowwise("softmax(x)", (64, 1024), out_dtype="f32")).schedule.vector == 4
