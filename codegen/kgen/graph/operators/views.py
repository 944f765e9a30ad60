"""Operators that move elements and compute nothing: views, and the copies that are no views."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from kgen.graph.ir import Builder, Value
from kgen.graph.model import Node
from kgen.graph.operators.registry import Operator, integers, one, optional
from kgen.ops.expression import view


def reshape(b: Builder, node: Node, given: list[Value | None]) -> Value:
    return b.reshape(one(given), b.result.shape)


def transpose(b: Builder, node: Node, given: list[Value | None]) -> Value:
    x = one(given)
    return b.permute(x, node.attribute("perm", tuple(reversed(range(x.rank)))))


def expand(b: Builder, node: Node, given: list[Value | None]) -> Value:
    return b.expand(one(given), b.result.shape)


def slices(b: Builder, node: Node, given: list[Value | None]) -> Value:
    x = one(given)
    if node.opset < 10:
        starts, stops = node.attribute("starts"), node.attribute("ends")
        axes, steps = node.attribute("axes"), None
    else:
        starts, stops = (integers(b, one(given, i), "bounds") for i in (1, 2))
        axes, steps = (
            None if v is None else integers(b, v, "axes")
            for v in (optional(given, 3), optional(given, 4))
        )
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        n = x.shape[axis % x.rank]
        # Ends out of range are those of the axis, as Python's.
        found = range(n)[slice(start, None if step < 0 and stop < -n else stop, step)]
        if not found:
            raise b.refusal("has a result without elements")
        if step > 0 or len(found) == 1:
            x = b.slice(x, axis % x.rank, found.start, len(found), abs(step))
            continue
        stop = float("-inf") if found[-1] == 0 else found[-1] - 1
        moved = view("slice", (b.term(x), axis % x.rank, found.start, stop, step))
        shape = list(x.shape)
        shape[axis % x.rank] = len(found)
        x = b.formula(moved, shape, x.dtype)
    return x


def split(b: Builder, node: Node, given: list[Value | None]) -> tuple[Value, ...]:
    x = one(given)
    axis = node.attribute("axis", 0) % x.rank
    sizes = [b.tensors[name].shape[axis] for name in node.outputs]
    starts = [0, *accumulate(sizes)]
    return tuple(b.slice(x, axis, a, n) for a, n in zip(starts, sizes, strict=False))


def concat(b: Builder, node: Node, given: list[Value | None]) -> Value:
    parts = [value for value in given if value is not None]
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    axis = node.attribute("axis", 1) % first.rank
    shape = list(first.shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return b.formula(
        view("concat", (*(b.tensor(part) for part in parts), axis)), shape, first.dtype
    )


def pad(b: Builder, node: Node, given: list[Value | None]) -> Value:
    x = one(given)
    if node.attribute("mode", "constant") != "constant":
        raise b.refusal(f"has mode={node.attribute('mode')}; kgen pads with a constant")
    if node.opset < 11:
        pads, value = node.attribute("pads"), node.attribute("value", 0.0)
    else:
        pads = integers(b, one(given, 1), "pads")
        number = optional(given, 2)
        array = b.array(number)
        if number is not None and array is None:
            raise b.refusal("takes what it pads with from data; kgen takes a constant")
        value = 0.0 if array is None else float(array.reshape(-1)[0])
    named = optional(given, 3)
    axes = range(x.rank) if named is None else integers(b, named, "axes")
    found, shape, count = b.tensor(x), list(x.shape), len(pads) // 2
    for axis, before, after in zip(axes, pads[:count], pads[count:], strict=True):
        if min(before, after) < 0:
            raise b.refusal("pads by less than nothing; kgen takes slices for that")
        if before or after:
            found = view("pad", (found, axis % x.rank, before, after, value))
            shape[axis % x.rank] += before + after
    return x if tuple(shape) == x.shape else b.formula(found, shape, x.dtype)


def gather(b: Builder, node: Node, given: list[Value | None]) -> Value:
    """By constant indices in even steps it is a slice."""
    x, index = one(given), one(given, 1)
    axis = node.attribute("axis", 0) % x.rank
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    array = b.array(index)
    if array is not None:
        places = array.reshape(-1).astype(np.int64)
        places = np.where(places < 0, places + x.shape[axis], places)
        steps = set(np.diff(places).tolist()) or {1}
        if places.min() < 0 or places.max() >= x.shape[axis]:
            raise b.refusal(f"has an index outside of the {x.shape[axis]} places of axis {axis}")
        if len(steps) == 1 and (step := int(next(iter(steps)))) > 0:
            return b.reshape(b.slice(x, axis, int(places[0]), len(places), step), shape)
    found = view("gather", (b.tensor(x), b.tensor(index), axis))
    return b.formula(found, shape, x.dtype)


def tile(b: Builder, node: Node, given: list[Value | None]) -> Value:
    """An axis that is repeated is a new one in front of it, expanded."""
    x = one(given)
    repeats = integers(b, one(given, 1), "repeats")
    pairs = [(1, n) for n in x.shape]
    wide = [(r, n) for r, (_, n) in zip(repeats, pairs, strict=True)]
    narrow = b.reshape(x, [size for pair in pairs for size in pair])
    grown = b.expand(narrow, [size for pair in wide for size in pair])
    return b.reshape(grown, [r * n for r, n in wide])


def _copies(name: str, becomes: str, lower: object, limits: str = "") -> Operator:
    return Operator(name=name, family="copy", becomes=becomes, lower=lower, limits=limits)  # type: ignore[arg-type]


OPERATORS: tuple[Operator, ...] = (
    *(
        Operator(name=name, family="view", becomes="strides", lower=reshape)
        for name in ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
    ),
    Operator(name="Transpose", family="view", becomes="strides", lower=transpose),
    Operator(name="Expand", family="view", becomes="strides", lower=expand),
    Operator(
        name="Slice", family="view", becomes="strides, slice", lower=slices,
        limits="constant bounds",
    ),
    Operator(
        name="Split", family="view", becomes="strides", lower=split, limits="constant sizes"
    ),
    Operator(
        name="Tile", family="view", becomes="strides", lower=tile, limits="constant repeats"
    ),
    _copies("Concat", "concat", concat),
    _copies("Pad", "pad", pad, "mode=constant, constant pads"),
    _copies("Gather", "gather, or strides where indices are constant", gather),
)  # fmt: skip
