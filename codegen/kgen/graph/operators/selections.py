"""Operators that select by rank or position: TopK, Hardmax, OneHot, Trilu, ReverseSequence."""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.indexing import at_places, moved_back, moved_last, numbers, place
from kgen.graph.operators.registry import Operator, axis_of, check_shape, integers, one, optional
from kgen.graph.operators.views import joined
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression, view
from kgen_runtime.dtypes import DType

#: Largest number that both f32 and 32-bit integers hold.
BIG = 2**31 - 128


def top_k(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[GraphValue, GraphValue]:
    """Lower TopK to the rank of each element in its row, and a sum that picks each rank."""
    x = one(given)
    axis = axis_of(b, node.attribute("axis", -1), x.rank)
    if node.opset < 10:
        counts: tuple[int, ...] = (node.attribute("k", 0),)
    else:
        counts = integers(b, one(given, 1), "k")
    n = x.shape[axis]
    if len(counts) != 1 or not 1 <= counts[0] <= n:
        shown = ",".join(map(str, counts))
        raise b.refusal(
            f"has k={shown} for {n} elements of axis {axis}; it must be one number from 1 to {n}",
            "change k in the model",
        )
    node.attribute("sorted", 1)  # Read it; results that are sorted are right for both values.
    rows = moved_last(b, x, axis)
    index = numbers(b, n, rows.rank, rows.rank - 1)
    largest = bool(node.attribute("largest", 1))
    values, places = _highest(b, rows, index, counts[0], largest)
    wide = b.formula(b.call("cast", places), places.shape, DType.S64)
    return moved_back(b, values, axis), moved_back(b, wide, axis)


def _highest(
    b: Builder, x: GraphValue, index: GraphValue, k: int, largest: bool
) -> tuple[GraphValue, GraphValue]:
    """Return the first k elements of each row in sorted order, and their indices.

    Ranks compare all pairs of elements, so a long row is first reduced to the first k of each part.
    """
    n = x.shape[-1]
    size = max(k, round((2 * n * k * k) ** (1 / 3)))
    if 2 * size > n:
        return _ranked(b, x, index, k, largest)
    starts = range(0, n, size)
    parts = []
    for start in starts:
        count = min(size, n - start)
        part, at = (
            v if v.shape[-1] == 1 else b.slice(v, v.rank - 1, start, count) for v in (x, index)
        )
        parts.append(_ranked(b, part, at, min(k, count), largest))
    values, places = (joined(b, list(found), x.rank - 1) for found in zip(*parts, strict=True))
    return _highest(b, values, places, k, largest)


def _ranked(
    b: Builder, x: GraphValue, index: GraphValue, k: int, largest: bool
) -> tuple[GraphValue, GraphValue]:
    n, batch, rank = x.shape[-1], x.shape[:-1], x.rank + 1
    mine, other = b.reshape(x, (*batch, n, 1)), b.reshape(x, (*batch, 1, n))
    if n == 1:
        return x, b.expand(index, x.shape)

    def precedes(one: GraphValue, another: GraphValue) -> Expression:
        """Return whether an element precedes another; NaN counts as the largest number."""
        first, second = (one, another) if largest else (another, one)
        found = b.call("logical_not", b.call("less_equal", first, second))
        if x.dtype.is_integer:
            return found
        return b.call("logical_and", found, b.call("logical_not", b.call("isnan", second)))

    column, row = numbers(b, n, rank, rank - 1), numbers(b, n, rank, rank - 2)
    is_tie = b.call(
        "logical_and", b.call("less", column, row), b.call("logical_not", precedes(mine, other))
    )
    is_before = b.call("logical_or", precedes(other, mine), is_tie)
    ranks = b.formula(
        b.call("sum", b.call("where", is_before, 1.0, 0.0)), (*batch, n, 1), DType.S32, (rank - 1,)
    )
    wanted = b.call("equal", b.reshape(ranks, (*batch, 1, n)), numbers(b, k, rank, rank - 2))

    def picked(value: GraphValue) -> GraphValue:
        wide = b.reshape(value, (*value.shape[:-1], 1, n))
        total = b.call("sum", b.call("where", wanted, wide, 0.0))
        found = b.formula(total, (*batch, k, 1), value.dtype, (rank - 1,))
        return b.reshape(found, (*batch, k))

    return picked(x), picked(index)


def hardmax(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Hardmax to a comparison of each index with that of the first largest element."""
    x = one(given)
    if node.opset >= 13:
        axis = axis_of(b, node.attribute("axis", -1), x.rank)
    else:
        axis = axis_of(b, node.attribute("axis", 1), x.rank)
        x = b.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        axis = 1
    is_first = b.call("equal", b.call("argmax", x), numbers(b, x.shape[axis], x.rank, axis))
    found = b.formula(b.call("where", is_first, 1.0, 0.0), x.shape, x.dtype, (axis,))
    return b.reshape(found, b.result.shape)


def one_hot(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower OneHot to a comparison of an index with each position along a new axis."""
    index, values = one(given), one(given, 2)
    depths = integers(b, one(given, 1), "depth")
    if len(depths) != 1 or depths[0] < 1:
        shown = ",".join(map(str, depths))
        raise b.refusal(
            f"has depth={shown}; it must be one number of 1 or more", "change depth in the model"
        )
    check_shape(b, values, (2,), "values")
    (depth,) = depths
    b.check_table(depth)
    axis = axis_of(b, node.attribute("axis", -1), index.rank + 1)
    at = b.reshape(index, (*index.shape[:axis], 1, *index.shape[axis:]))
    if not index.dtype.is_integer:
        at = b.formula(b.call("trunc", at), at.shape, at.dtype)
    places = numbers(b, depth, at.rank, axis)
    equal = b.call("equal", place(b, at, depth, depth), places)
    is_hot: Expression | GraphValue = equal
    off, on = (b.reshape(b.slice(values, 0, i, 1), ()) for i in (0, 1))
    if (known := b.array(values)) is not None:
        off, on = (b.made("values", known[i], values.dtype) for i in (0, 1))
        wide = known.astype(np.float64)
        if index.dtype.is_integer and (wide != np.clip(np.trunc(wide), -BIG, BIG)).any():
            # Formulas of integers alone are computed in integers.
            is_hot = b.formula(equal, b.result.shape, DType.BOOL)
    return b.formula(b.call("where", is_hot, on, off), b.result.shape, values.dtype)


def trilu(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Trilu to a comparison of column and row numbers."""
    x, named = one(given), optional(given, 1)
    shifts = (0,) if named is None else integers(b, named, "k")
    if x.rank < 2 or len(shifts) != 1:
        raise b.refusal(
            f"has an input of {x.rank} axes and {len(shifts)} numbers k; ONNX requires 2 axes or "
            "more and one k",
            "change them in the model",
        )
    rows, columns = x.shape[-2:]
    b.check_table(rows + columns)
    # All diagonals outside the matrix have the same result.
    shift = min(max(shifts[0], -rows), columns)
    first = np.arange(rows, dtype=np.int32)[:, None] + shift
    compares = "less_equal" if node.attribute("upper", 1) else "greater_equal"
    is_kept = b.call(compares, b.made("diagonal", first, DType.S32), numbers(b, columns, 2, 1))
    return b.formula(b.call("where", is_kept, x, 0.0), x.shape, x.dtype)


def reverse_sequence(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower ReverseSequence to a gather from a table of all time steps of all sequences."""
    x, lengths = one(given), one(given, 1)
    time, batch = (
        axis_of(b, node.attribute(f"{name}_axis", default), min(x.rank, 2), f"{name}_axis")
        for name, default in (("time", 0), ("batch", 1))
    )
    if time == batch:
        raise b.refusal(
            f"has time_axis={time} and batch_axis={batch}; they must differ", "change one of them"
        )
    order = (batch, time, *range(2, x.rank))
    rows = b.permute(x, order)
    check_shape(b, lengths, rows.shape[:1], "sequence_lens")
    return b.permute(reversed_rows(b, rows, lengths), order)


def reversed_rows(b: Builder, rows: GraphValue, lengths: GraphValue) -> GraphValue:
    """Reverse the first `lengths` elements of each sequence of shape (batch, time, ...)."""
    count, steps, *left = rows.shape
    table = b.reshape(rows, (count * steps, *left))
    known = b.array(lengths)
    if known is not None:
        if known.min() < 0 or known.max() > steps:
            raise b.refusal(
                f"has a sequence_lens outside of 0 to {steps}, the number of time steps",
                "change it in the model",
            )
        along, ends = np.arange(steps), known.astype(np.int64)[:, None]
        at = np.where(along < ends, ends - 1 - along, along) + np.arange(count)[:, None] * steps
        return b.reshape(at_places(b, table, 0, at.reshape(-1)), rows.shape)
    step = numbers(b, steps, 2, 1, lengths.dtype)
    end = b.reshape(lengths, (count, 1))
    mirrored = b.call("sub", b.call("sub", end, 1.0), step)
    at_step = b.call("where", b.call("less", step, end), mirrored, step)
    first = np.arange(count, dtype=lengths.dtype.storage)[:, None] * steps
    flat = b.call("add", at_step, b.made("first", first, lengths.dtype))
    index = b.formula(flat, (count, steps), lengths.dtype)
    gathered = view("gather", (b.tensor(table), b.tensor(index), 0))
    return b.formula(gathered, rows.shape, rows.dtype)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="TopK", family="row-wise", becomes="sum of comparisons; sum of the picked elements",
        lower=top_k, unsupported="k from data",
    ),
    Operator(name="Hardmax", family="row-wise", becomes="argmax", lower=hardmax),
    Operator(
        name="OneHot", family="element-wise", becomes="where", lower=one_hot,
        unsupported="depth from data",
    ),
    Operator(
        name="Trilu", family="element-wise", becomes="where", lower=trilu, unsupported="k from data"
    ),
    Operator(name="ReverseSequence", family="copy", becomes="gather", lower=reverse_sequence),
)  # fmt: skip
