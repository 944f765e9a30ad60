"""Plan of rows that all families share: phases, kept values, columns of lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kgen.ops import expression
from kgen.spec import Rowwise
from kgen.targets.rows.online import exponentials_of, online_of
from kgen.targets.rows.plan import RowPlan
from kgen.targets.rows.split import widest_vector

Shape = tuple[int, ...]


def row_plan(
    text: str,
    *shapes: Shape,
    last: int = 1,
    vector: int = 1,
    lanes: int = 4,
    online: bool = False,
) -> RowPlan:
    spec = Rowwise(expression=text, shapes=shapes, dtype="f32", axes=tuple(range(-last, 0)))
    together = exponentials_of if online else None
    return RowPlan(spec=spec, vector=vector, lanes=lanes, online=together)


def phases(plan: RowPlan) -> list[list[str]]:
    return [[fold.step.name for fold in phase.folds] for phase in plan.phases]


@pytest.mark.parametrize(
    ("text", "expected", "kept"),
    [
        ("sum(x)", [["sum"], []], 0),
        ("softmax(x)", [["maxnum"], ["sum"], []], 1),
        ("log_softmax(x)", [["maxnum"], ["sum"], []], 1),
        ("layer_norm(x)", [["sum"], ["sum"], []], 1),
        ("rms_norm(x)", [["sum"], []], 1),
        ("amax(x) - amin(x)", [["max", "min"], []], 0),
        ("x / l2(x) + mean(x)", [["sum", "sum"], []], 1),
        ("argmax(x)", [["max"], ["min"], []], 1),
    ],
)
def test_phases(text: str, expected: list[list[str]], kept: int) -> None:
    plan = row_plan(text, (3, 8))
    assert phases(plan) == expected
    assert plan.values_kept == kept


def test_a_sum_of_exponentials_is_found_with_its_maximum() -> None:
    plan = row_plan("log_softmax(x)", (3, 8), online=True)
    assert phases(plan) == [["maxnum", "sum"], []]
    (total,) = plan.phases[0].online
    assert total.relative_to == "maxnum"
    moved = online_of(total, plan.phases[0].folds[0]).moved
    assert str(moved) == "mul(value, exp2(mul(sub(extreme, maxnum(x)), 1.4426950408889634)))"
    assert phases(row_plan("logsumexp(x)", (3, 8), online=True)) == [["maxnum", "sum"], []]
    assert exponentials_of(plan.results[0]) is None


def test_exponentials_that_are_the_same_for_a_row_wait_for_their_maximum() -> None:
    """Values that are equal for a row are computed before its elements."""
    plan = row_plan("x + log_softmax(y)", (3, 8), (3, 1), online=True)
    assert phases(plan) == [["maxnum"], ["sum"], []]


def test_what_is_the_same_for_a_row_is_computed_once() -> None:
    plan = row_plan("softmax(x * scale + mask)", (2, 3, 8), (3, 1), (2, 1, 1))
    first = plan.phases[0]
    assert [str(v) for v in first.row_values] == ["scale", "mask"]
    assert first.inputs == ("x",)
    assert [i.name for i in plan.inputs if i.columns is None] == ["scale", "mask"]
    assert all(not plan.is_of_row(wanted) for wanted in first.wanted)


def test_inputs_are_read_in_the_phases_that_need_them() -> None:
    plan = row_plan("layer_norm(x, scale, shift)", (3, 8), (8,), (8,))
    assert [phase.inputs for phase in plan.phases] == [("x",), ("x",), ("x", "scale", "shift")]


@pytest.mark.parametrize("cols", [1, 3, 4, 5, 8, 31, 32, 33])
@pytest.mark.parametrize(("vector", "lanes"), [(1, 1), (1, 4), (4, 4), (1, 32)])
def test_lanes_cover_a_row_once(cols: int, vector: int, lanes: int) -> None:
    if cols % vector:
        return
    plan = row_plan("sum(x)", (2, cols), vector=vector, lanes=lanes)
    found: Counter[int] = Counter()
    for lane in range(lanes):
        for piece in plan.pieces:
            if not piece.partial or lane + piece.offset < plan.row_vectors:
                found.update(
                    range((lane + piece.offset) * vector, (lane + piece.offset + 1) * vector)
                )
    assert found == Counter(range(cols))
    assert len(plan.pieces) == plan.turns


def test_where_rows_and_columns_lie() -> None:
    plan = row_plan("x + mask + scale - mean(x)", (2, 3, 5, 8), (2, 1, 1, 8), (3, 1, 1), last=1)
    x, mask, scale = plan.inputs
    assert x.row_terms == ((0, 120), (1, 40), (2, 8)) and x.columns and x.columns.linear
    assert mask.row_terms == ((0, 8),) and mask.columns and mask.columns.linear
    assert scale.row_terms == ((1, 1),) and scale.columns is None
    # What varies with a channel of a group's places.
    group = row_plan("layer_norm(x, scale)", (2, 3, 4, 10), (3, 4, 1), last=2)
    _, scale = group.inputs
    assert scale.columns and scale.columns.single and scale.columns.terms == ((0, 1),)
    assert [d.divisor for d in group.column_dimensions] == [10]


@pytest.mark.parametrize(
    ("shapes", "last", "vector"),
    [
        (((3, 16),), 1, 8),
        (((3, 12),), 1, 4),
        (((3, 7),), 1, 1),
        (((3, 4, 6), (4, 1)), 2, 2),
        (((3, 16), (16,)), 1, 8),
        (((16,),), 1, 8),
    ],
)
def test_vectors_stay_in_rows(shapes: tuple[Shape, ...], last: int, vector: int) -> None:
    text = "mean(x + y)" if len(shapes) > 1 else "mean(x)"
    assert (
        widest_vector(Rowwise(expression=text, shapes=shapes, axes=tuple(range(-last, 0))), 8)
        == vector
    )


def test_titles_name_what_is_known() -> None:
    plan = row_plan("layer_norm(x)", (3, 8))
    titles = [fold.title for phase in plan.phases for fold in phase.folds]
    assert titles[0] == "sum = sum(x)"
    assert titles[1] == "sum2 = sum((x - sum * 0.125) * (x - sum * 0.125))"


def test_a_long_title_costs_no_more_than_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level of gelu repeats its argument, so the whole text is exponential."""
    words = list[str]()
    written = expression._words

    def counted(*arguments: Any) -> Iterator[str]:
        for word in written(*arguments):
            words.append(word)
            yield word

    monkeypatch.setattr(expression, "_words", counted)
    plan = row_plan(f"sum({'gelu(' * 3}x{')' * 3})", (3, 8))
    assert [fold.title for phase in plan.phases for fold in phase.folds] == ["sum"]
    assert 0 < len(words) < 10_000
