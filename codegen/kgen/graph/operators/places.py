"""Elements of an axis by places that are known: a slice, repetitions, or a gather."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgen.graph.ir import Builder, Value
from kgen.graph.reading.model import Array
from kgen.graph.rewrites.orders import inverse
from kgen.ops.expression import view
from kgen_runtime.dtypes import DType


def at_places(b: Builder, x: Value, axis: int, places: Array) -> Value:
    """x.take(places, axis), of places in [0, n)."""
    count, n = len(places), x.shape[axis]
    steps = set(np.diff(places).tolist()) or {1}
    if len(steps) == 1 and (step := int(next(iter(steps)))) > 0:
        return b.slice(x, axis, int(places[0]), count, step)
    if times := times_of(places, n):
        return repeated(b, x, {axis: times})
    index = b.made("places", places.astype(np.int32), DType.S32)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return b.formula(view("gather", (b.tensor(x), b.tensor(index), axis)), shape, x.dtype)


def times_of(places: Array, n: int) -> int:
    """How often each of n elements is taken, one after the other; 0 if that is not all."""
    times = len(places) // n
    in_order = times * n == len(places) and np.array_equal(places, np.arange(len(places)) // times)
    return times if in_order else 0


def repeated(b: Builder, x: Value, times: Mapping[int, int]) -> Value:
    """Each element of some axes so many times: one of a new axis behind each, expanded."""
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
