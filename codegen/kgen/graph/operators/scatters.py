"""Scatter operators: each writes rows along one axis of a tensor, or of the flattened tensor."""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, FormulaNode, GraphValue
from kgen.graph.operators.elementwise import BYTES, wrapped
from kgen.graph.operators.indexing import flat_places, moved_back, moved_last, numbers, place
from kgen.graph.operators.registry import Operator, axis_of, check_shape, choice_of, one, optional
from kgen.graph.operators.views import joined
from kgen.graph.reading.model import Array, Node, Shape
from kgen.graph.rewrites.orders import inverse
from kgen.ops.expression import Expression, variable
from kgen.spec.shapes import by_x, packed
from kgen_runtime.dtypes import DType


def scattered(
    b: Builder, x: GraphValue, index: GraphValue, rows: GraphValue, axis: int
) -> GraphValue:
    """Return x with rows written along `axis` at the indices in the list `index`.

    A permuted x is scattered into before the permutation, so that it is written in place.
    """
    if order := b.order_of(x):
        back = inverse(order)
        found = scattered(b, b.permute(x, back), index, b.permute(rows, back), order[axis])
        return b.permute(found, order)
    # Copy a tensor that is scattered into itself.
    index, rows = (copied(b, v) if v is x else v for v in (index, rows))
    return b.add(FormulaNode(expression=b.scatter(x, index, rows, axis)), x.shape, x.dtype)


def copied(b: Builder, value: GraphValue) -> GraphValue:
    return b.add(FormulaNode(expression=variable(value.id)), value.shape, value.dtype)


def constant_place(at: Array, n: int, none: int) -> Array:
    """Return what :func:`place` computes, for a constant index."""
    outside = (at < -n) | (at >= n)
    return np.where(outside, none, np.where(at < 0, at + n, at))


#: Row function, scalar function and identity of each reduction. The identity None stands for the
#: element of x.
REDUCTIONS = {
    "add": ("sum", "add", 0.0), "mul": ("prod", "mul", 1.0),
    "max": ("amax", "max", None), "min": ("amin", "min", None),
}  # fmt: skip


def joined_rows(
    b: Builder, x: GraphValue, index: GraphValue, rows: GraphValue, how: str
) -> GraphValue:
    """Reduce rows (..., count) into x (..., n), by an index (..., count).

    Each element of x reads all rows and selects those whose index names it, so an index may repeat.
    """
    n, count, rank = x.shape[-1], rows.shape[-1], x.rank + 1
    over, join, neutral = REDUCTIONS[how]
    at, row = (b.reshape(v, (*v.shape[:-1], 1, count)) for v in (index, rows))
    here = b.reshape(x, (*x.shape, 1))
    is_named = b.call("equal", place(b, at, n, n), numbers(b, n, rank, rank - 2, index.dtype))
    other = here if neutral is None else neutral
    total = b.call(over, b.call("where", is_named, row, other))
    # 8-bit integers are reduced in s32 and then wrapped; wider integers wrap by themselves.
    wide = DType.S32 if x.dtype in BYTES else x.dtype
    found = b.formula(total, here.shape, wide, (rank - 1,))
    both = b.call(join, x, b.reshape(found, x.shape))
    if x.dtype in BYTES:
        both = wrapped(b, both, x.dtype)
    return b.formula(both, x.shape, x.dtype)


def joined_elements(
    b: Builder, x: GraphValue, index: GraphValue, rows: GraphValue, axis: int, how: str
) -> GraphValue:
    """Lower ScatterElements with a reduction. Elements that no index names stay unchanged."""
    for other, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)):
        if other != axis and n < m:
            part = joined_elements(b, b.slice(x, other, 0, n), index, rows, axis, how)
            return joined(b, [part, b.slice(x, other, n, m - n)], other)
    table, at, last = (moved_last(b, v, axis) for v in (x, index, rows))
    return moved_back(b, joined_rows(b, table, at, last, how), axis)


def check_places(b: Builder, index: Array | None, sizes: Shape) -> None:
    """Raise GraphError for a constant index outside of axes of these sizes."""
    if index is None:
        return
    for axis, n in enumerate(sizes):
        at = index[..., axis]
        if ((at < -n) | (at >= n)).any():
            raise b.refusal(
                f"has an index outside of an axis of {n} elements; {-n} to {n - 1} are the limits",
                "change the index in the model",
            )


def scatter_nd(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower ScatterND to a scatter by the linear index of an element or slice."""
    how = choice_of(b, node, "reduction", "none", ("none", *REDUCTIONS))
    x, index, rows = (one(given, i) for i in range(3))
    depth = index.shape[-1] if index.rank else 0
    if not 1 <= depth <= x.rank:
        raise b.refusal(
            f"has indices of {depth} numbers for {x.rank} axes; 1 to {x.rank} are the limits",
            "correct the last axis of the indices in the model",
        )
    check_shape(b, rows, (*index.shape[:-1], *x.shape[depth:]), "updates")
    check_places(b, b.array(index), x.shape[:depth])
    count, named, left = math.prod(index.shape[:-1]), x.shape[:depth], x.shape[depth:]
    rows = b.reshape(rows, (count, *left))
    size = math.prod(named)
    if depth == 1:
        flat = b.reshape(index, (count,))
    elif (known := b.array(index)) is not None:
        line = np.zeros(count, np.int64)
        for axis, n in enumerate(named):
            part = known[..., axis].astype(np.int64).reshape(count)
            line += constant_place(part, n, 2 * size) * math.prod(named[axis + 1 :])
        flat = b.made("places", line, DType.S64)
    else:
        flat = flat_places(b, index, named, (count,), size)
    table = x if depth == 1 else b.reshape(x, (size, *left))
    if how == "none":
        return b.reshape(scattered(b, table, flat, rows, 0), x.shape)
    last = [moved_last(b, v, 0) for v in (table, rows)]
    return b.reshape(moved_back(b, joined_rows(b, last[0], flat, last[1], how), 0), x.shape)


def scatter_elements(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower ScatterElements to a scatter by the linear index of an element."""
    how = choice_of(b, node, "reduction", "none", ("none", *REDUCTIONS))
    x, index, rows = (one(given, i) for i in range(3))
    axis = axis_of(b, node.attribute("axis", 0), x.rank)
    check_shape(b, rows, index.shape, "updates")
    if index.rank != x.rank or any(
        n > m for i, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)) if i != axis
    ):
        raise b.refusal(
            f"has indices of shape {by_x(index.shape)} for {by_x(x.shape)}; ONNX requires as many "
            f"axes, of which only axis {axis} may be longer",
            CHANGE_MODEL,
        )
    known = b.array(index)
    if known is not None:
        check_places(b, known[..., None], x.shape[axis : axis + 1])
    if how != "none":
        return joined_elements(b, x, index, rows, axis, how)
    b.check_table(math.prod(index.shape))
    grid = np.indices(index.shape, np.int64)
    steps = packed(x.shape)
    others = sum(grid[i] * step for i, step in enumerate(steps) if i != axis)
    size, count = math.prod(x.shape), math.prod(index.shape)
    if known is not None:
        at = constant_place(known.astype(np.int64), x.shape[axis], size) * steps[axis]
        flat = b.made("places", (at + others).reshape(count), DType.S64)
    else:
        first = b.made("places", np.asarray(others, index.dtype.storage), index.dtype)
        # An index outside the axis must stay outside the flattened tensor.
        along = b.call("mul", place(b, index, x.shape[axis], size), float(steps[axis]))
        flat = b.formula(b.call("add", along, first), index.shape, index.dtype)
        flat = b.reshape(flat, (count,))
    line = b.reshape(x, (size,))
    return b.reshape(scattered(b, line, flat, b.reshape(rows, (count,)), 0), x.shape)


def tensor_scatter(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower TensorScatter: write an update into a cache from a position on, along an axis."""
    x, rows, first = one(given), one(given, 1), optional(given, 2)
    axis = axis_of(b, node.attribute("axis", -2), x.rank)
    beside = (*x.shape[:axis], rows.shape[min(axis, rows.rank - 1)], *x.shape[axis + 1 :])
    check_shape(b, rows, beside, "an update")
    n, count = x.shape[axis], rows.shape[axis]
    behind = b.made("places", np.arange(count), DType.S64)
    if first is None:
        return scattered(b, x, behind, rows, axis)
    batch, shape = x.shape[0], (x.shape[0], count)
    at = b.formula(b.call("add", b.reshape(first, (batch, 1)), behind), shape, DType.S64)
    inside: Expression = b.term(at)
    if node.attribute("mode", "linear") == "circular":
        inside = b.call("mod", at, float(n))
    if batch == 1:
        index = b.reshape(b.formula(inside, shape, DType.S64), (count,))
        return scattered(b, x, index, rows, axis)
    # Each sequence of the batch has its own position, so merge the batch into the scattered axis.
    start = b.made("images", n * np.arange(batch).reshape(batch, 1), DType.S64)
    flat = b.call("add", place(b, b.formula(inside, shape, DType.S64), n, batch * n), start)
    index = b.reshape(b.formula(flat, shape, DType.S64), (batch * count,))
    order = [0, axis, *(i for i in range(1, x.rank) if i != axis)]
    tables = [b.permute(v, order) for v in (x, rows)]
    table, new = (b.reshape(v, (v.shape[0] * v.shape[1], *v.shape[2:])) for v in tables)
    found = b.reshape(scattered(b, table, index, new, 0), tables[0].shape)
    return b.permute(found, inverse(order))


OPERATORS: tuple[Operator, ...] = tuple(
    Operator(
        name=name,
        family="copy",
        becomes="scatter; sum of the rows with equal index",
        lower=lower,
        unsupported=unsupported,
    )
    for name, lower, unsupported in (
        ("ScatterND", scatter_nd, ""),
        ("ScatterElements", scatter_elements, ""),
        ("Scatter", scatter_elements, ""),
        ("TensorScatter", tensor_scatter, ""),
    )
)
