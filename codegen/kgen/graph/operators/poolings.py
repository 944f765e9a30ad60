"""Pooling operators and LRN: a formula over each window, or a reduction over whole axes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.registry import Lower, Operator, check_shape, one
from kgen.graph.operators.scatters import check_places, scattered
from kgen.graph.operators.signed_bytes import numbers_of, signed, unsigned
from kgen.graph.operators.windows import Window, Windows, padded, places_of, seen_at, windows_of
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression, view
from kgen.spec.shapes import by_x, packed
from kgen_runtime.dtypes import DType

#: Most elements of a window that one formula reduces; larger windows are reduced axis by axis.
MOST_PLACES = 16
#: Most elements along one axis that one formula reduces; longer windows are reduced in parts.
MOST_ALONG = 64


def pooled(b: Builder, x: GraphValue, windows: Windows, join: str, around: float) -> GraphValue:
    """Reduce the elements of each window along the last axes by a function.

    `around` is the value of the padding.
    """
    axes = range(x.rank - len(windows), x.rank)
    if math.prod(w.size for w in windows) <= MOST_PLACES:
        return _joined(b, x, axes, windows, join, around)
    for axis, window in zip(axes, windows, strict=True):
        x = _along(b, x, axis, window, join, around)
    return x


def _along(
    b: Builder, x: GraphValue, axis: int, window: Window, join: str, around: float
) -> GraphValue:
    """Reduce the elements of each window along one axis.

    A long window is reduced in two stages: first parts of adjacent elements, then the results of
    these parts and the remaining elements.
    """
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
    """Return the windows that a pooling node's attributes describe."""
    return windows_of(
        b, node, tuple(node.attribute("kernel_shape", ())), x.shape[2:], b.result.shape[2:]
    )


def is_whole(windows: Windows) -> bool:
    """Whether there is one window, which covers all elements and no padding."""
    return all(w.count == 1 and w.size == w.length and w.apart == 1 for w in windows) and not any(
        w.before or w.after for w in windows
    )


def max_pool(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[GraphValue, ...]:
    x, is_unsigned = signed(b, one(given)), one(given).dtype is DType.U8
    stored = numbers_of(b, x)
    if stored is not None and len(node.outputs) < 2 and stored[1].scale.number > 0.0:
        # With a positive scale, the largest quantised number is the largest value.
        largest = max_pool(b, node, [stored[0]])[0]
        parts = dataclasses.replace(stored[1], numbers=largest.id)
        return (b.formula(parts.expression, largest.shape, x.dtype),)
    windows = taken(b, node, x)
    least = -math.inf if x.dtype.limits is None else float(x.dtype.limits[0])
    found = over_all(b, x, "amax") if is_whole(windows) else pooled(b, x, windows, "max", least)
    shown = unsigned(b, found) if is_unsigned else found
    if len(node.outputs) < 2 or not node.outputs[1]:
        return (shown,)
    return shown, places_of_largest(b, node, x, found, windows, least)


def places_of_largest(
    b: Builder, node: Node, x: GraphValue, largest: GraphValue, windows: Windows, least: float
) -> GraphValue:
    """Return, for each window, the linear index in x of its first largest element.

    NaN counts as the largest. With storage_order=1 indices within an image are column-major.
    """
    rank, sizes = len(windows), x.shape[2:]
    steps = packed(sizes)
    axes = range(2, 2 + rank)
    whole = padded(b.tensor(x), windows, axes, least)
    shown: Expression | None = None
    if any(w.before or w.after > 0 for w in windows):
        b.check_table(math.prod(sizes))
        ones = b.made("inside", np.ones((1, 1, *sizes), np.bool_), DType.BOOL)
        shown = padded(b.tensor(ones), windows, axes, 0.0)
    beyond = float(sum((w.size * w.apart) * step for w, step in zip(windows, steps, strict=True)))
    at = places_of(windows)
    first: GraphValue | None = None
    for start in range(0, len(at), MOST_PLACES):
        found: Expression | None = None if first is None else b.term(first)
        for place in at[start : start + MOST_PLACES]:
            seen = seen_at(whole, windows, axes, place)
            is_largest = b.call("equal", seen, largest)
            if not x.dtype.is_integer:
                is_largest = b.call("logical_or", is_largest, b.call("isnan", seen))
            if shown is not None:
                # Padding may equal the largest element of a window, so exclude it.
                there = seen_at(shown, windows, axes, place)
                is_largest = b.call("logical_and", is_largest, there)
            offset = sum(
                p * w.apart * step for p, w, step in zip(place, windows, steps, strict=True)
            )
            number = b.call("where", is_largest, float(offset), beyond)
            found = number if found is None else b.call("min", found, number)
        assert found is not None
        first = b.formula(found, largest.shape, DType.S32)
    assert first is not None
    images, size = math.prod(x.shape[:2]), math.prod(sizes)
    corner = np.zeros((1,) * rank, np.int64)
    for axis, (window, step) in enumerate(zip(windows, steps, strict=True)):
        starts = (np.arange(window.count) * window.step - window.before) * step
        corner = corner + starts.reshape([-1 if i == axis else 1 for i in range(rank)])
    image = (np.arange(images) * size).reshape(*x.shape[:2], *(1,) * rank)
    inside = b.formula(
        b.call("add", b.made("corners", corner, DType.S64), first), largest.shape, DType.S64
    )
    number = b.term(inside)
    if node.attribute("storage_order", 0):
        number = b.term(0.0)
        for axis, (n, step) in enumerate(zip(sizes, steps, strict=True)):
            along = b.call("mod", b.call("floor_divide", inside, step), n)
            number = b.call("add", number, b.call("mul", along, math.prod(sizes[:axis])))
    total = b.call("add", number, b.made("images", image, DType.S64))
    return b.formula(total, largest.shape, DType.S64)


def max_unpool(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower MaxUnpool: scatter each element into zeros, at its linear index in the result."""
    x, index = one(given), one(given, 1)
    check_shape(b, index, x.shape, "indices")
    rank = x.rank - 2
    sizes = tuple(node.attribute("kernel_shape", ()))
    steps = tuple(node.attribute("strides", (1,) * rank))
    pads = tuple(node.attribute("pads", (0,) * 2 * rank))
    if not len(sizes) == len(steps) == rank or len(pads) != 2 * rank:
        raise b.refusal(
            f"has kernel_shape with {len(sizes)}, strides with {len(steps)} and pads with "
            f"{len(pads)} numbers for {rank} spatial axes",
            f"give {2 * rank} pads, and {rank} of the others",
        )
    shape = (*x.shape[:2], *(
        (x.shape[2 + i] - 1) * steps[i] - pads[i] - pads[rank + i] + sizes[i] for i in range(rank)
    ))  # fmt: skip
    out = b.result.shape
    if any(n < 1 for n in shape) or any(n > m for n, m in zip(shape, out, strict=True)):
        raise b.refusal(
            f"unpools to {by_x(shape)}, which does not fit its result of {by_x(out)}",
            "change output_shape, strides or pads in the model",
        )
    size, count = math.prod(shape), math.prod(x.shape)
    b.check_table(size)
    if (known := b.array(index)) is not None:
        check_places(b, known[..., None], (size,))
    zeros = b.made("zeros", np.zeros(size, x.dtype.storage), x.dtype)
    line = scattered(b, zeros, b.reshape(index, (count,)), b.reshape(x, (count,)), 0)
    whole = b.reshape(line, shape)
    found = b.tensor(whole)
    for axis, (n, m) in enumerate(zip(shape, out, strict=True)):
        if m > n:
            found = view("pad", (found, axis, 0, m - n, 0.0))
    return whole if shape == out else b.formula(found, out, x.dtype)


def powers(b: Builder, x: GraphValue, p: float) -> Expression:
    """Return the magnitudes of x raised to a power."""
    if p == 2:
        return b.call("mul", x, x)
    size = b.call("abs", x)
    return size if p == 1 else b.call("pow", size, p)


def root(b: Builder, total: GraphValue | Expression, p: float) -> Expression:
    if p == 1:
        return total if isinstance(total, Expression) else b.term(total)
    return b.call("sqrt", total) if p == 2 else b.call("pow", total, 1.0 / p)


def lp_pool(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower LpPool and GlobalLpPool: the root of a sum of powers over a window or a channel."""
    x, p = one(given), float(node.attribute("p", 2))
    if node.operator == "GlobalLpPool":
        axes = tuple(range(2, x.rank))
        shape = (*x.shape[:2], *(1 for _ in axes))
        total = b.call("sum", powers(b, x, p))
        return b.formula(root(b, total, p), shape, x.dtype, axes) if axes else x
    windows = taken(b, node, x)
    sums = pooled(b, b.formula(powers(b, x, p), x.shape, x.dtype), windows, "add", 0.0)
    return sums if p == 1 else b.formula(root(b, sums, p), sums.shape, x.dtype)


def response_norm(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower LRN: divide by a power of the sum of squares of adjacent channels."""
    x, size = one(given), int(node.attribute("size", 0))
    if x.rank < 2 or size < 1:
        raise b.refusal(
            f"has size={size} and an input of {x.rank} axes; ONNX requires a size of 1 or more, "
            "and 2 axes or more",
            "change them in the model",
        )
    alpha, beta, bias = (
        float(node.attribute(name, default))
        for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    n, before = x.shape[1], (size - 1) // 2
    window = Window(length=n, size=size, step=1, apart=1, count=n, pads=(before, size - 1 - before))
    squares = b.formula(b.call("mul", x, x), x.shape, x.dtype)
    total = _along(b, squares, 1, window, "add", 0.0)
    factor = b.call("add", b.call("mul", total, alpha / size), bias)
    return b.formula(b.call("mul", x, b.call("pow", factor, -beta)), x.shape, x.dtype)


def average_pool(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower AveragePool: the sum of each window times the reciprocal of its number of elements.

    The count excludes padding, unless count_include_pad is set.
    """
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
            raise b.refusal("has a window that covers only padding", "use smaller pads")
        parts = parts * counts.reshape([-1 if i == axis else 1 for i in range(len(windows))])
    if np.all(parts == parts.flat[0]):
        return b.formula(b.call("mul", total, 1.0 / float(parts.flat[0])), total.shape, x.dtype)
    dtype = DType.F64 if x.dtype is DType.F64 else DType.F32
    weights = b.made("weights", (1 / parts).astype(dtype.storage), dtype)
    return b.formula(b.call("mul", total, weights), total.shape, x.dtype)


def over_all(b: Builder, x: GraphValue, name: str) -> GraphValue:
    """Reduce each channel to one number; return x if a channel has one element."""
    axes = tuple(range(2, x.rank))
    if not axes:
        return x
    shape = (*x.shape[:2], *(1 for _ in axes))
    return b.formula(b.call(name, x), shape, x.dtype, axes)


def over_all_by(name: str) -> Lower:
    return lambda b, node, given: over_all(b, one(given), name)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="MaxPool", family="element-wise", becomes="max over windows; min of its positions",
        lower=max_pool,
    ),
    Operator(
        name="MaxUnpool", family="copy", becomes="scatter", lower=max_unpool,
        unsupported="output_shape from data",
    ),
    *(
        Operator(name=name, family="element-wise", becomes="add over windows, pow", lower=lp_pool)
        for name in ("LpPool", "GlobalLpPool")
    ),
    Operator(
        name="LRN", family="element-wise", becomes="add over channels, pow", lower=response_norm
    ),
    Operator(
        name="AveragePool", family="element-wise", becomes="add over windows, mul",
        lower=average_pool,
    ),
    Operator(
        name="GlobalAveragePool", family="row-wise", becomes="mean", lower=over_all_by("mean")
    ),
    Operator(name="GlobalMaxPool", family="row-wise", becomes="amax", lower=over_all_by("amax")),
)  # fmt: skip
