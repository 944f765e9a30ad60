"""Vulkan row-wise plans: every element once, exchanges over exactly a row's lanes, refusals."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.spec import DType, Elementwise, Rowwise
from kgen.targets.vulkan.plan.index import index_of
from kgen.targets.vulkan.plan.rows.rowwise import RowwisePlan, vector_of
from tests.unit.targets.vulkan.vulkan_plans import VULKAN13, plan, text

Shape = tuple[int, ...]


def rows(expression: str, *shapes: Shape, last: int = 1) -> Rowwise:
    return Rowwise(
        expression=expression, shapes=shapes, dtype=DType.F32, axes=tuple(range(-last, 0))
    )


def planned(spec: Rowwise, **overrides: int) -> RowwisePlan:
    found = plan(spec, **overrides)
    assert isinstance(found, RowwisePlan)
    return found


SOFTMAX = rows("softmax(x)", (5, 70))
LONG = rows("softmax(x)", (2, 50000))


@pytest.mark.parametrize("cols", [1, 2, 33, 300, 1000, 1001])
def test_the_lanes_vectors_make_up_a_row(cols: int) -> None:
    found = planned(rows("softmax(x)", (5, cols)))
    assert found.schedule.resident
    held: Counter[int] = Counter()
    for vector in found.row_phases.vectors:
        for lane in range(found.lanes):
            number = lane + vector.offset
            assert vector.partial or number < found.row.row_vectors
            held.update([number] if number < found.row.row_vectors else [])
    assert held == Counter(range(found.row.row_vectors))


@pytest.mark.parametrize("expression", ["softmax(x)", "amax(x) - amin(x)", "var(x)"])
@pytest.mark.parametrize("cols", [2, 70, 50000])
def test_exchanges_reach_all_lanes_and_take_turns_with_the_buffers(
    expression: str, cols: int
) -> None:
    """The module is the one for devices without shuffles."""
    with_shuffles = planned(rows(expression, (2, cols)))
    found = (*with_shuffles.fallbacks, with_shuffles)[0]
    assert isinstance(found, RowwisePlan)
    steps = [step for each in found.phases for step in each.exchanges]
    folds = [fold for each in found.phases for fold in each.phase.folds]
    assert all(a.buffer != b.buffer for a, b in pairwise(steps))
    distances = Counter(step.distance for step in steps)
    assert distances == Counter({1 << bit: len(folds) for bit in range(found.lane_bits)})
    assert math.prod(2 for _ in distances) == found.lanes


def test_folds_of_lanes_take_turns_with_the_buffers() -> None:
    """Folds follow one another; rows fit one subgroup, or are interleaved."""
    found = planned(rows("var(x)", (2, 50000)))
    assert [fold.buffer for fold in found.folds] == [0, 1]
    assert (found.nearest, found.row_reach, found.other_rows) == (1, 128, "uint_0xffffff80")
    short = planned(rows("softmax(x)", (200, 64)))
    assert short.row_reach == short.lanes and short.requires["full_subgroups"]
    assert planned(rows("softmax(x)", (2, 64)), num_threads=64).folds == ()


def test_a_single_lane_exchanges_nothing() -> None:
    kernel = text(rows("layer_norm(x)", (200, 7)), num_threads=64, rows_per_block=64)
    assert "OpControlBarrier" not in kernel and "Workgroup %float" not in kernel


def test_no_step_of_arithmetic_changes_nothing() -> None:
    """No sum starts from 0, and no index is multiplied by 1."""
    for spec in (
        SOFTMAX,
        rows("softmax(x)", (3, 2000)),
        rows("softmax(x + mask)", (6, 4, 64), (6, 1, 64)),
    ):
        kernel = text(spec)
        assert "%f32_00000000" not in kernel
        assert not re.search(r"OpIMul \S+ \S+ %uint_1$", kernel, re.MULTILINE)
        assert not re.search(r"OpIAdd \S+ \S+ %uint_0$", kernel, re.MULTILINE)


def test_lanes_without_a_vector_fold_nothing() -> None:
    """In a row shorter than its lanes they have the identity; at the end of a longer one, the
    earlier value."""
    short = text(rows("sum(x)", (2, 3)), num_threads=4, rows_per_block=1)
    assert "%v0_sum = OpSelect %float %v0_inside %x_v0_0_float %f32_00000000" in short
    longer = text(rows("sum(x)", (2, 7)), num_threads=4, rows_per_block=1)
    assert "%v1_sum = OpSelect %float %v1_inside %v1_sum_0 %x_v0_0_float" in longer


def test_folds_of_several_names_do_not_share_ids() -> None:
    """The third scalar of `sum` is not `sum2`: the assembler refuses ids that are defined twice."""
    pipeline.kernel(rows("layer_norm(x)", (33, 1000)), VULKAN13)


def test_a_resident_row_is_read_once_and_a_streamed_one_by_each_phase() -> None:
    assert len(re.findall("OpLoad %u?16?vec2|OpLoad %uvec2", text(SOFTMAX))) == len(
        planned(SOFTMAX).row_phases.vectors
    )
    assert text(LONG).count("OpLoad %uvec4") == 3
    assert "the row is read 3 times" in text(LONG)
    both = text(rows("rms_norm(x, w)", (2, 50000), (50000,)))
    assert len(re.findall(r"OpAccessChain %uvec4_ptr %w_tensor ", both)) == 1


def test_inputs_of_a_row_are_read_once() -> None:
    kernel = text(rows("mean(x) * scale", (7, 9), (7, 1)))
    assert kernel.count("OpAccessChain %uint_ptr %scale_tensor ") == 1


def test_rows_and_columns_are_numbers_of_the_matrix() -> None:
    mask = rows("softmax(where(column <= row, x, -inf))", (2, 3, 16, 16))
    kernel = text(mask)
    assert "%row_in_matrix = OpUMod %uint %row_read %uint_16" in kernel
    assert "%row_number = OpConvertUToF %float %row_in_matrix" in kernel
    assert "OpUMod" not in text(rows("softmax(where(column <= row, x, -inf))", (16, 16)))


def test_groups_read_an_element_for_several_columns() -> None:
    """A channel's scale belongs to all of its pixels, by whose number columns are divided."""
    spec = rows("layer_norm(x, scale, shift)", (2, 3, 4, 10), (3, 4, 1), (3, 4, 1), last=2)
    found = planned(spec)
    assert found.tensor("scale").vector == 1 and found.tensor("x").vector == 2
    assert "OpUDiv %uint %lane %uint_5" in text(spec)


def test_only_a_rows_first_lane_writes_its_number() -> None:
    found = planned(rows("argmax(x)", (5, 100)))
    assert found.tensor("out").vector == 1 and found.spec.out is DType.S32
    kernel = text(rows("argmax(x)", (5, 100)))
    assert "%is_first = OpIEqual %bool %lane %uint_0" in kernel
    assert kernel.count("OpStore %out") == 1
    assert "%narrow_s32 = OpFunction" in kernel


@pytest.mark.parametrize(
    ("spec", "overrides", "message"),
    [
        (
            SOFTMAX,
            {"vector": 4},
            "vector=4 is more than 2: an access has at most 4 elements and divides a row of "
            "each input; try vector=2",
        ),
        (
            rows("sum(x)", (2, 64)),
            {"vector": 8},
            "vector=8 is more than 4: an access has at most 4 elements and divides a row of "
            "each input; try vector=4",
        ),
        (SOFTMAX, {"num_threads": 48, "rows_per_block": 1}, "num_threads=48 is not a power of two"),
        (SOFTMAX, {"num_threads": 2048}, "vulkan1.3 allows 1024; try num_threads=128"),
        (
            rows("softmax(x)", (64, 1)),
            {"num_threads": 64, "rows_per_block": 64},
            "rows_per_block=64 gives a row of one value a single invocation, and some drivers "
            "then lose a NaN; try rows_per_block=32",
        ),
        (
            LONG,
            {"resident": 1},
            "resident=1 keeps 392 values of a row of 50000 in each invocation; the limit is 64;"
            " try resident=0",
        ),
        (
            rows("x / l2(x) + y / l2(y)", (2, 5000)),
            {"resident": 1},
            "resident=1 keeps 80 values of a row of 5000 in each invocation; the limit is 64; "
            "try resident=0",
        ),
    ],
)
def test_refusals(spec: Rowwise, overrides: dict[str, int], message: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan(spec, **overrides)


@pytest.mark.parametrize(
    ("shapes", "last", "vector"),
    [
        (((5, 64),), 1, 4),
        (((5, 70),), 1, 2),
        (((5, 7),), 1, 1),
        (((5, 8), (5, 1)), 1, 4),
        (((2, 3, 4, 10), (3, 4, 1)), 2, 2),
    ],
)
def test_the_widest_vector(shapes: tuple[Shape, ...], last: int, vector: int) -> None:
    expression = "sum(x)" if len(shapes) == 1 else "sum(x * y)"
    assert vector_of(rows(expression, *shapes, last=last)) == vector


def test_an_index_computes_only_what_it_must() -> None:
    assert index_of("at", []).name == "uint_0"
    assert index_of("at", [("lane", 1)]).name == "lane"
    scaled = index_of("at", [("row", 7)])
    assert scaled.name == "at" and [t.product for t in scaled.terms] == ["at"]
    several = index_of("at", [("first", 1), ("row", 7), ("lane", 1)])
    assert [(t.product, t.sum, t.is_scaled) for t in several.terms] == [
        ("first", "first", False),
        ("at_term1", "at_sum1", True),
        ("lane", "at", False),
    ]


@pytest.mark.parametrize("name", ["thread", "block", "entry", "main", "float", "lane", "glsl"])
def test_inputs_may_have_names_that_kernels_use(name: str) -> None:
    pipeline.kernel(rows(f"softmax({name})", (33, 1000)), VULKAN13)
    pipeline.kernel(Elementwise(expression=f"{name} + 1", shapes=((7,),)), VULKAN13)
