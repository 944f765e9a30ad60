"""Plans of CPU row-wise kernels: values that are kept, where, and how exponentials are computed."""

from __future__ import annotations

import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.ops.expression import Expression, node, reduce, variable
from kgen.ops.expression import Primitive as P
from kgen.ops.signs import is_nonpositive, with_nonpositive_exponentials
from kgen.schedule import CpuRows
from kgen.spec import DType, Rowwise
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.rows.rowwise import RowwisePlan, may_be_flushed
from kgen.targets.rows.shifted import head_of

X = variable("x")


def plan_of(
    text: str,
    *shapes: tuple[int, ...],
    name: str = "x86-64-v3",
    dtype: DType = DType.F32,
    last: int = 1,
) -> RowwisePlan:
    target = FAMILY.find(name)
    assert target is not None
    spec = Rowwise(expression=text, shapes=shapes, dtype=dtype, axes=tuple(range(-last, 0)))
    plan = pipeline.plan(spec, target)
    assert isinstance(plan, RowwisePlan)
    return plan


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        ("softmax(x)", [1]),
        ("log_softmax(x)", []),
        ("layer_norm(x)", []),
        # gelu's exponentials before the maximum's; softmax's take their place.
        ("softmax(silu(x))", [0, 1]),
        ("mean(exp(x))", []),
        ("exp(x) - mean(exp(x))", [0]),
        # A truth value is no float.
        ("where(exp(x) > 1, x, mean(where(exp(x) > 1, x, 0)))", []),
    ],
)
def test_what_costs_much_is_kept_if_a_later_phase_needs_it(text: str, phases: list[int]) -> None:
    plan = plan_of(text, (4, 300))
    assert [kept.phase for kept in plan.kept] == phases
    assert {kept.slot for kept in plan.kept} <= {0}
    assert plan.scratch_bytes == (304 * 4 if phases else 0)


def test_where_it_is_kept() -> None:
    assert plan_of("softmax(x)", (2, 32768)).row_buffers == ("%kept0",)
    # Longer rows lie in out's, if that holds floats.
    longer = plan_of("softmax(x)", (2, 40000), name="x86-64-v4")
    assert longer.kept and longer.row_buffers == ()
    assert not plan_of("softmax(x)", (2, 40000), name="x86-64-v4", dtype=DType.F16).kept
    both = "exp(x) * mean(exp(x)) + log(y) * amax(log(y))"
    assert [k.slot for k in plan_of(both, (2, 300), (2, 300)).kept] == [0, 1]
    assert [k.slot for k in plan_of(both, (2, 20000), (2, 20000)).kept] == [0, 1]
    assert plan_of(both, (2, 20000), (2, 20000)).row_buffers == ("%kept0",)


@pytest.mark.parametrize(
    ("text", "rows", "cols", "expected"),
    [
        # Extremes and their first places are found together; exponentials where a row is read from
        # memory every time; variances where it is read from there at all.
        ("argmax(x) - argmin(x)", 2, 300, [["max", "min", "min2", "min3"], []]),
        ("softmax(x)", 2, 300, [["maxnum"], ["sum"], []]),
        ("softmax(x)", 2, 40000, [["maxnum", "sum"], []]),
        ("logsumexp(x)", 2, 40000, [["maxnum", "sum"], []]),
        ("layer_norm(x)", 2, 300, [["sum"], ["sum2"], []]),
        ("layer_norm(x)", 2, 40000, [["sum"], ["sum2", "sum3"], []]),
        ("layer_norm(x)", 40000, 4096, [["sum"], ["sum2"], []]),
        ("var(x)", 40000, 4096, [["sum"], ["sum2", "sum3"], []]),
    ],
)
def test_what_is_found_in_one_reading(
    text: str, rows: int, cols: int, expected: list[list[str]]
) -> None:
    plan = plan_of(text, (rows, cols))
    assert [[fold.name for fold in phase.folds] for phase in plan.row.phases] == expected
    if ["sum2", "sum3"] in expected:
        # The first phase is of the first columns alone.
        assert head_of(plan.row.phases[0]) == max(4, cols // 64 // plan.run.step) * plan.run.step
        assert not plan.kept


def test_lines_are_where_no_input_begins_again() -> None:
    norm = "layer_norm(x, scale, shift)"
    assert plan_of(norm, (5, 96), (96,), (5, 1)).lines == 1
    planes = plan_of(norm, (2, 3, 4, 10), (3, 4, 1), (10,), last=2)
    assert (planes.lines, planes.run.length) == (4, 10)
    assert plan_of(norm, (2, 3, 4, 10), (3, 4, 10), (1,), last=3).lines == 1


@pytest.mark.parametrize(
    ("step", "known"),
    [
        (-node(P.ABS, X) * 1.5, True),
        (node(P.SUB, X, reduce("max", X)) * 1.5, True),
        (node(P.SUB, X, reduce("maxnum", X)) * -1.5, False),
        (node(P.SUB, X, reduce("min", X)), False),
        (node(P.SUB, X, reduce("max", variable("y"))), False),
        (X * X * -0.5, True),
        (X * variable("y") * -0.5, False),
        (-node(P.ABS, X), True),
        (X, False),
    ],
)
def test_signs(step: Expression, known: bool) -> None:
    assert is_nonpositive(step) == known
    found = with_nonpositive_exponentials(node(P.EXP2, step), DType.F32)
    assert (found.name == "exp2_nonpositive") == known


@pytest.mark.parametrize(
    ("text", "flushed"),
    [
        ("softmax(x)", True),
        ("log_softmax(x)", True),
        ("layer_norm(x, scale, shift)", True),
        ("rms_norm(x) + x", True),
        ("mean(x)", False),
        ("amax(x)", False),
        ("max(softmax(x), x)", False),
        ("where(x > 0, softmax(x), x)", False),
    ],
)
def test_an_instruction_rounds_what_may_be_flushed(text: str, flushed: bool) -> None:
    shapes = {"x": (4, 300), "scale": (300,), "shift": (300,)}
    names = Rowwise(expression=text, shapes=((1, 1),), dtype=DType.BF16).inputs
    plan = plan_of(text, *(shapes[n] for n in names), name="x86-64-v4+bf16", dtype=DType.BF16)
    assert may_be_flushed(plan.row.results[0]) == flushed
    assert plan.access("out").rounded_by_cpu == flushed
    assert ("avx512_bf16" in plan.features) == flushed
    # The oracle knows.
    names = ("out",) if flushed else ()
    assert FAMILY.tolerance(plan.spec, plan.target, plan.schedule).flushed_outputs == names


def test_edges_are_there_only_where_a_row_has_them() -> None:
    for cols, masked, loops in ((64, False, True), (66, True, True), (5, True, False)):
        text = pipeline.source(plan_of("softmax(x)", (3, cols), dtype=DType.F16)).text
        assert ("masked" in text) == masked
        assert ("sum.u.head" in text) == loops
    assert "masked" not in pipeline.source(plan_of("softmax(x)", (2, 1), dtype=DType.BF16)).text


def test_which_rows_pass_the_caches() -> None:
    target = FAMILY.find("x86-64-v4")
    assert target is not None

    def plan(
        text: str, *shapes: tuple[int, ...], axes: tuple[int, ...] = (-1,), unroll: int = 1
    ) -> None:
        spec = Rowwise(expression=text, shapes=shapes, dtype=DType.F32, axes=axes)
        pipeline.plan(spec, target, CpuRows(task=1, unroll=unroll, nontemporal=True))

    plan("softmax(x)", (5, 128))
    plan("softmax(x)", (5, 16), unroll=4)
    for text, shapes, axes in (
        ("sum(x)", [(5, 128)], (-1,)),
        ("softmax(x)", [(5, 3)], (-1,)),
        ("layer_norm(x, scale)", [(5, 4, 32), (4, 1)], (1, 2)),
    ):
        with pytest.raises(ScheduleError, match="try nontemporal=0"):
            plan(text, *shapes, axes=axes)
    with pytest.raises(ScheduleError, match=r"unroll=3 is not a power of two, .*; try unroll=2"):
        plan("softmax(x)", (5, 128), unroll=3)


def test_rows_pass_the_caches_where_nothing_is_kept_in_the_output() -> None:
    """The rows must also exceed twice the last-level cache."""
    for text, rows, past in (
        ("layer_norm(x)", 4096, True),
        ("layer_norm(x)", 1024, False),
        ("softmax(x)", 4096, False),
        ("sum(x)", 4096, False),
    ):
        for name in ("x86-64-v3", "x86-64-v4", "aarch64-neon"):
            schedule = plan_of(text, (rows, 4096), name=name).schedule
            assert schedule.nontemporal == (past and name != "aarch64-neon"), (text, rows, name)
