"""Poolings: a formula of what each place of a window sees, or rows over whole axes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.registry import Lower, Operator, one
from kgen.graph.operators.windows import (
    Window,
    Windows,
    padded,
    places_of,
    seen_at,
    windows_of,
)
from kgen.graph.reading.model import Node
from kgen_runtime.dtypes import DType

#: Places of a window that one formula sees; of more it sees them axis by axis.
MOST_PLACES = 16
#: Places along one axis that one formula sees; of more it sees parts first.
MOST_ALONG = 64


def pooled(b: Builder, x: GraphValue, windows: Windows, join: str, around: float) -> GraphValue:
    """The places of windows along the last axes of a value, joined by a function; `around` is what
    lies around it."""
    axes = range(x.rank - len(windows), x.rank)
    if math.prod(w.size for w in windows) <= MOST_PLACES:
        return _joined(b, x, axes, windows, join, around)
    for axis, window in zip(axes, windows, strict=True):
        x = _along(b, x, axis, window, join, around)
    return x


def _along(
    b: Builder, x: GraphValue, axis: int, window: Window, join: str, around: float
) -> GraphValue:
    """The places of a window along one axis, joined. Those of a long window in two stages: parts of
    neighbouring places, then these parts and the places that are left over."""
    if window.size <= MOST_ALONG:
        return _joined(b, x, (axis,), (window,), join, around)
    part = min(range(2, MOST_ALONG + 1), key=lambda p: p + sum(divmod(window.size, p)))
    parts, left = divmod(window.size, part)
    reach = part * window.apart
    step = math.gcd(window.step, reach)
    first = dataclasses.replace(
        window,
        size=part,
        step=step,
        count=((window.count - 1) * window.step + (parts - 1) * reach) // step + 1,
    )
    joined = _joined(b, x, (axis,), (first,), join, around)
    second = Window(
        length=first.count,
        size=parts,
        step=window.step // step,
        apart=reach // step,
        count=window.count,
        pads=(0, 0),
    )
    found = _along(b, joined, axis, second, join, around)
    start = parts * reach - window.before
    if not left or start >= window.length:
        return found
    rest = dataclasses.replace(window, size=left, pads=(max(-start, 0), 0))
    if start > 0:
        x = b.slice(x, axis, start, window.length - start)
        rest = dataclasses.replace(rest, length=window.length - start)
    last = _along(b, x, axis, rest, join, around)
    return b.formula(b.call(join, found, last), found.shape, x.dtype)


def _joined(
    b: Builder, x: GraphValue, axes: Sequence[int], windows: Windows, join: str, around: float
) -> GraphValue:
    whole = padded(b.tensor(x), windows, axes, around)
    found = None
    for at in places_of(windows):
        part = seen_at(whole, windows, axes, at)
        found = part if found is None else b.call(join, found, part)
    assert found is not None
    shape = list(x.shape)
    for axis, window in zip(axes, windows, strict=True):
        shape[axis] = window.count
    return b.formula(found, shape, x.dtype)


def taken(b: Builder, node: Node, x: GraphValue) -> Windows:
    """A node's windows. Raises GraphError for those that are not taken."""
    if x.dtype.is_integer:
        raise b.refusal(
            f"pools {x.dtype}; kgen pools floats", "cast its input to f32, and its result back"
        )
    return windows_of(
        b, node, tuple(node.attribute("kernel_shape", ())), x.shape[2:], b.result.shape[2:]
    )


def is_whole(windows: Windows) -> bool:
    """There is one window, which sees all once and nothing around it."""
    return all(w.count == 1 and w.size == w.length and w.apart == 1 for w in windows) and not any(
        w.before or w.after for w in windows
    )


def max_pool(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x = one(given)
    if sum(bool(name) for name in node.outputs) > 1:
        raise b.refusal(
            "gives indices too; only the first result is supported",
            "export the model without the indices",
        )
    windows = taken(b, node, x)
    if is_whole(windows):
        return over_all(b, x, "amax")
    return pooled(b, x, windows, "max", -math.inf)


def average_pool(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Sums, times one by how many elements a window has: those of the tensor, or of it with its
    pads."""
    x = one(given)
    windows = taken(b, node, x)
    if is_whole(windows):
        return over_all(b, x, "mean")
    total = pooled(b, x, windows, "add", 0.0)
    with_pads = bool(node.attribute("count_include_pad", 0))
    b.check_table(math.prod(window.count for window in windows))
    parts = np.ones((1,) * len(windows))
    for axis, window in enumerate(windows):
        before, after = window.pads if with_pads else (0, 0)
        places = window.places()
        counts = ((places >= -before) & (places < window.length + after)).sum(1)
        if not counts.all():
            raise b.refusal("has a window that covers only padding", "take smaller pads")
        parts = parts * counts.reshape([-1 if i == axis else 1 for i in range(len(windows))])
    if np.all(parts == parts.flat[0]):
        return b.formula(b.call("mul", total, 1.0 / float(parts.flat[0])), total.shape, x.dtype)
    dtype = DType.F64 if x.dtype is DType.F64 else DType.F32
    weights = b.made("weights", (1 / parts).astype(dtype.storage), dtype)
    return b.formula(b.call("mul", total, weights), total.shape, x.dtype)


def over_all(b: Builder, x: GraphValue, name: str) -> GraphValue:
    """Reduce each channel to one number; return x where a channel is one number."""
    axes = tuple(range(2, x.rank))
    if not axes:
        return x
    shape = (*x.shape[:2], *(1 for _ in axes))
    return b.formula(b.call(name, x), shape, x.dtype, axes)


def over_all_by(name: str) -> Lower:
    return lambda b, node, given: over_all(b, one(given), name)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="MaxPool", family="element-wise", becomes="max over windows", lower=max_pool,
        unsupported="integers; the indices",
    ),
    Operator(
        name="AveragePool", family="element-wise", becomes="add over windows, mul",
        lower=average_pool, unsupported="integers",
    ),
    Operator(
        name="GlobalAveragePool", family="row-wise", becomes="mean", lower=over_all_by("mean")
    ),
    Operator(name="GlobalMaxPool", family="row-wise", becomes="amax", lower=over_all_by("amax")),
)  # fmt: skip
