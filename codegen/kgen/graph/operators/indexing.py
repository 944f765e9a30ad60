"""Indexing helpers of lowerings: slices, repeats and gathers, by constants or by data."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.reading.model import Array, Shape
from kgen.graph.rewrites.orders import inverse
from kgen.ops.expression import Expression, view
from kgen_runtime.dtypes import DType


def at_places(b: Builder, x: GraphValue, axis: int, places: Array) -> GraphValue:
    """Return x.take(places, axis) for indices in [0, n): a slice, a repeat or a gather."""
    count, n = len(places), x.shape[axis]
    steps = set(np.diff(places).tolist()) or {1}
    if len(steps) == 1 and (step := int(next(iter(steps)))) > 0:
        return b.slice(x, axis, int(places[0]), count, step)
    if times := times_of(places, n):
        return repeated(b, x, {axis: times})
    index = b.made("places", places.astype(np.int32), DType.S32)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return b.formula(view("gather", (b.tensor(x), b.tensor(index), axis)), shape, x.dtype)


def numbers(b: Builder, n: int, rank: int, axis: int, dtype: DType = DType.S32) -> GraphValue:
    """Return 0 to n - 1 along an axis of a tensor of `rank` axes whose other axes have size 1."""
    shape = [n if i == axis else 1 for i in range(rank)]
    return b.made("numbers", np.arange(n, dtype=dtype.storage).reshape(shape), dtype)


def moved_last(b: Builder, x: GraphValue, axis: int) -> GraphValue:
    """Return x with an axis moved to the end."""
    return b.permute(x, [*(i for i in range(x.rank) if i != axis), axis])


def moved_back(b: Builder, x: GraphValue, axis: int) -> GraphValue:
    """Return x with its last axis moved to the position `axis`."""
    order = list(range(x.rank - 1))
    order.insert(axis, x.rank - 1)
    return b.permute(x, order)


def place(b: Builder, at: GraphValue, n: int, none: int) -> Expression:
    """Return an index into an axis of n elements, counted from 0.

    Negative indices count from the end of the axis. An index outside the axis becomes `none`.
    """
    outside = b.call("logical_or", b.call("less", at, -float(n)), b.call("less", n - 1.0, at))
    wrapped = b.call("where", b.call("less", at, 0.0), b.call("add", at, float(n)), at)
    return b.call("where", outside, float(none), wrapped)


def flat_places(b: Builder, index: GraphValue, sizes: Shape, shape: Shape, size: int) -> GraphValue:
    """Return linear indices into axes of these sizes, reshaped to `shape`.

    The last axis of `index` holds a number per axis. A number outside its axis gives an index past
    the end of a table of `size` elements.
    """
    parts = (
        b.reshape(b.slice(index, index.rank - 1, axis, 1), shape) for axis in range(len(sizes))
    )
    total = None
    for axis, (part, n) in enumerate(zip(parts, sizes, strict=True)):
        term = b.call("mul", place(b, part, n, 2 * size), float(math.prod(sizes[axis + 1 :])))
        total = term if total is None else b.call("add", total, term)
    assert total is not None
    return b.formula(total, shape, index.dtype)


def times_of(places: Array, n: int) -> int:
    """Return how often `places` repeats each of n elements in order; 0 if it does not."""
    times = len(places) // n
    in_order = times * n == len(places) and np.array_equal(places, np.arange(len(places)) // times)
    return times if in_order else 0


def repeated(b: Builder, x: GraphValue, times: Mapping[int, int]) -> GraphValue:
    """Repeat each element along some axes: broadcast a new axis after each of them."""
    if order := b.order_of(x):
        inner = b.permute(x, inverse(order))
        return b.permute(repeated(b, inner, {order[a]: t for a, t in times.items()}), order)
    apart, grown, together = [], [], []
    for axis, n in enumerate(x.shape):
        count = times.get(axis, 1)
        apart += [n, 1] if count > 1 else [n]
        grown += [n, count] if count > 1 else [n]
        together.append(n * count)
    return b.reshape(b.expand(b.reshape(x, apart), grown), together)
