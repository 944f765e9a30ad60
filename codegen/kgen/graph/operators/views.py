"""Operators that only move elements: views such as Reshape, and copies such as Gather and Pad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.operators.indexing import at_places, flat_places, place
from kgen.graph.operators.registry import (
    Operator,
    axes_of,
    axis_of,
    check_list,
    choice_of,
    integers,
    one,
    optional,
)
from kgen.graph.operators.windows import MOST_PADDED
from kgen.graph.reading.model import Node
from kgen.ops.expression import view
from kgen.spec.shapes import by_x, packed

#: Most tensors that one kernel concatenates.
MOST_JOINED = 8
#: Fill modes of Pad.
MODES = ("constant", "reflect", "edge", "wrap")
#: Whether the block (DCR) or the channel (CRD) is the outer part of the channels.
BLOCK_MODES = ("DCR", "CRD")


def reshape(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    check_list(b, optional(given, 1), "axes" if "queeze" in node.operator else "a shape")
    return b.reshape(one(given), b.result.shape)


def transpose(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x = one(given)
    return b.permute(x, node.attribute("perm", tuple(reversed(range(x.rank)))))


def expand(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    return b.expand(one(given), b.result.shape)


def slices(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
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
    counts = tuple(map(len, (starts, stops, axes, steps)))
    if len(set(counts)) > 1:
        raise b.refusal(
            "has {} starts, {} ends, {} axes and {} steps".format(*counts),
            "give the same number of each",
        )
    axes = axes_of(b, axes, x.rank)
    for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        n = x.shape[axis]
        if step == 0:
            raise b.refusal("has a step of 0", "give a step other than 0")
        # Clip out-of-range ends as Python does.
        found = range(n)[slice(start, None if step < 0 and stop < -n else stop, step)]
        if not found:
            raise b.refusal("has a result without elements", "export the model without it")
        if step > 0 or len(found) == 1:
            x = b.slice(x, axis, found.start, len(found), abs(step))
            continue
        stop = float("-inf") if found[-1] == 0 else found[-1] - 1
        moved = view("slice", (b.term(x), axis, found.start, stop, step))
        shape = list(x.shape)
        shape[axis] = len(found)
        x = b.formula(moved, shape, x.dtype)
    return x


def split(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[GraphValue, ...]:
    x = one(given)
    axis = axis_of(b, node.attribute("axis", 0), x.rank)
    sizes = part_sizes(b, node, optional(given, 1), x.shape[axis])
    if sum(sizes) != x.shape[axis] or len(sizes) != len(node.outputs):
        raise b.refusal(
            f"has sizes {','.join(map(str, sizes))} for {len(node.outputs)} results of an axis of "
            f"{x.shape[axis]}",
            f"give each result a size, with a sum of {x.shape[axis]}",
        )
    starts = [0, *accumulate(sizes)]
    return tuple(b.slice(x, axis, a, n) for a, n in zip(starts, sizes, strict=False))


def part_sizes(b: Builder, node: Node, named: GraphValue | None, n: int) -> Sequence[int]:
    """Return the sizes of the parts of a Split of n elements.

    Without sizes in the node, the parts are equal, except for a smaller last one.
    """
    if named is not None:
        return integers(b, named, "sizes")
    if sizes := node.attribute("split", ()):
        return sizes  # type: ignore[no-any-return]
    count = node.attribute("num_outputs", len(node.outputs))
    each = -(-n // count)
    return [min(each, n - i * each) for i in range(count)]


def concat(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    parts = [value for value in given if value is not None]
    if len(parts) == 1:
        return parts[0]
    return joined(b, parts, axis_of(b, node.attribute("axis", 1), parts[0].rank))


def joined(b: Builder, parts: Sequence[GraphValue], axis: int) -> GraphValue:
    """Concatenate tensors along an axis, a limited number per kernel."""
    while len(parts) > MOST_JOINED:
        groups = [parts[i : i + MOST_JOINED] for i in range(0, len(parts), MOST_JOINED)]
        parts = [joined(b, group, axis) for group in groups]
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return b.formula(
        view("concat", (*(b.tensor(part) for part in parts), axis)), shape, parts[0].dtype
    )


def pad(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Pad with a constant or with elements of the input; negative pads are slices."""
    x, mode = one(given), node.attribute("mode", "constant")
    if mode not in MODES:
        raise b.refusal(
            f"has mode={mode}; supported are {', '.join(MODES)}", "export it with one of them"
        )
    if node.opset < 11:
        pads, fill = node.attribute("pads"), node.attribute("value", 0.0)
    else:
        pads, fill = integers(b, one(given, 1), "pads"), fill_of(b, optional(given, 2))
    named = optional(given, 3)
    axes = range(x.rank) if named is None else integers(b, named, "axes")
    axes = axes_of(b, axes, x.rank)
    count = len(axes)
    if len(pads) != 2 * count:
        raise b.refusal(f"has {len(pads)} pads for {count} axes", "give two pads for each axis")
    if max(map(abs, pads), default=0) > MOST_PADDED:
        raise b.refusal(
            f"pads by {max(map(abs, pads))}; {MOST_PADDED} is the limit", "take smaller pads"
        )
    around: list[tuple[int, int, int]] = []
    for axis, before, after in zip(axes, pads[:count], pads[count:], strict=True):
        n = x.shape[axis]
        left = n + min(before, 0) + min(after, 0)
        if left < 1:
            raise b.refusal(f"has a result without elements along axis {axis}", "take larger pads")
        x = b.slice(x, axis, max(-before, 0), left)
        if max(before, after) > 0:
            around.append((axis, max(before, 0), max(after, 0)))
    if mode != "constant":
        for axis, before, after in around:
            n, most = x.shape[axis], max(before, after)
            if mode == "reflect" and most >= n:
                raise b.refusal(
                    f"reflects {most} of the {n} elements of axis {axis}; {n - 1} is the limit",
                    "take smaller pads",
                )
            b.check_table(n + before + after)
            places = np.pad(np.arange(x.shape[axis]), (before, after), mode)
            x = at_places(b, x, axis, places)
        return x
    if isinstance(fill, GraphValue):
        for axis, before, after in around:
            x = between(b, x, axis, fill, (before, after))
        return x
    found, shape = b.tensor(x), list(x.shape)
    for axis, before, after in around:
        found = view("pad", (found, axis, before, after, fill))
        shape[axis] += before + after
    return x if not around else b.formula(found, shape, x.dtype)


def fill_of(b: Builder, given: GraphValue | None) -> float | GraphValue:
    """Return the fill value of Pad: a number, or the input for an integer not exact in f64."""
    if given is None:
        return 0.0
    array = b.array(given)
    if array is None:
        raise b.refusal(
            "computes the padding value from data; only a constant is supported",
            "make it an initializer",
        )
    if array.size != 1:
        raise b.refusal(
            f"pads with {array.size} numbers; ONNX requires one", "make it a single number"
        )
    first = array.reshape(-1)[0]
    if given.dtype.is_integer and int(float(first)) != int(first):
        return given
    return float(first)


def between(
    b: Builder, x: GraphValue, axis: int, fill: GraphValue, counts: tuple[int, int]
) -> GraphValue:
    """Return x with copies of a constant element before and after it along an axis."""
    one_of = b.reshape(fill, (1,) * x.rank)
    before, after = (
        b.expand(one_of, (*x.shape[:axis], n, *x.shape[axis + 1 :])) if n else None for n in counts
    )
    return joined(b, [part for part in (before, x, after) if part is not None], axis)


def gather(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Gather; constant indices in even steps give a slice."""
    x, index = one(given), one(given, 1)
    axis = axis_of(b, node.attribute("axis", 0), x.rank)
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    array = b.array(index)
    if array is not None:
        places = array.reshape(-1).astype(np.int64)
        places = np.where(places < 0, places + x.shape[axis], places)
        if places.min() < 0 or places.max() >= x.shape[axis]:
            raise b.refusal(
                f"has an index outside of the {x.shape[axis]} elements of axis {axis}",
                "change the index in the model",
            )
        return b.reshape(at_places(b, x, axis, places), shape)
    # Kernel tensors have at least one axis: a scalar index gathers one row.
    at = b.reshape(index, index.shape or (1,))
    found = view("gather", (b.tensor(x), b.tensor(at), axis))
    rows = b.formula(found, (*x.shape[:axis], *at.shape, *x.shape[axis + 1 :]), x.dtype)
    return b.reshape(rows, shape)


def tile(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Tile: broadcast a new axis before each repeated axis."""
    x = one(given)
    repeats = integers(b, one(given, 1), "repeats")
    if len(repeats) != x.rank:
        raise b.refusal(f"has {len(repeats)} repeats for {x.rank} axes", "give each axis one")
    wide = [(r, n) if r > 1 else (n,) for r, n in zip(repeats, x.shape, strict=True)]
    narrow = b.reshape(x, [size for sizes in wide for size in (1,) * (len(sizes) - 1) + sizes[-1:]])
    grown = b.expand(narrow, [size for sizes in wide for size in sizes])
    return b.reshape(grown, b.result.shape)


def gather_nd(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower GatherND to a gather by the linear index of an element or slice within its batch."""
    x, index = one(given), one(given, 1)
    depth, batch = index.shape[-1] if index.rank else 0, int(node.attribute("batch_dims", 0))
    if not 0 <= batch < min(x.rank, index.rank) or x.shape[:batch] != index.shape[:batch]:
        raise b.refusal(
            f"has batch_dims={batch} for inputs of shape {by_x(x.shape)} and "
            f"{by_x(index.shape)}; it must be below {min(x.rank, index.rank)}, and the first "
            f"{batch} sizes of both equal",
            "change batch_dims in the model, or these sizes",
        )
    if not 1 <= depth <= x.rank - batch:
        raise b.refusal(
            f"has indices of {depth} numbers for {x.rank - batch} axes; 1 to {x.rank - batch} are "
            "the limits",
            "correct the last axis of the indices in the model",
        )
    named, left = x.shape[batch : batch + depth], x.shape[batch + depth :]
    count, size = math.prod(x.shape[:batch]), math.prod(named)
    table = b.reshape(x, (count * size, *left))
    first = (np.arange(count) * size).reshape(*x.shape[:batch], *(1,) * (index.rank - batch - 1))
    array = b.array(index)
    if array is not None:
        places = np.where(array < 0, array + np.array(named), array)
        if (places < 0).any() or (places >= np.array(named)).any():
            raise b.refusal(
                f"has an index outside of axes of {by_x(named)} elements",
                "change the index in the model",
            )
        line = (places * np.array(packed(named))).sum(-1) + first
        return b.reshape(at_places(b, table, 0, line.reshape(-1)), b.result.shape)
    shape = index.shape[:-1] or (1,)
    if depth == 1 and count == 1:
        flat = b.reshape(index, shape)
    else:
        flat = flat_places(b, index, named, shape, count * size)
        if count > 1:
            start = b.made("first", first.astype(index.dtype.storage), index.dtype)
            flat = b.formula(b.call("add", flat, start), shape, index.dtype)
    found = view("gather", (b.tensor(table), b.tensor(flat), 0))
    return b.reshape(b.formula(found, (*flat.shape, *left), x.dtype), b.result.shape)


def gather_elements(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower GatherElements to a gather by the linear index of an element.

    The linear index combines the index along the axis with the element's position along the others.
    """
    x, index = one(given), one(given, 1)
    axis = axis_of(b, node.attribute("axis", 0), x.rank)
    others = [a for a in range(x.rank) if a != axis]
    if index.rank != x.rank or any(index.shape[a] > x.shape[a] for a in others):
        raise b.refusal(
            f"has indices of shape {by_x(index.shape)} for {by_x(x.shape)}; ONNX requires as many "
            f"axes, of which only axis {axis} may be longer",
            CHANGE_MODEL,
        )
    steps, size, n = packed(x.shape), math.prod(x.shape), x.shape[axis]
    if 2 * size > np.iinfo(index.dtype.storage).max:
        raise b.refusal(
            f"has indices of {index.dtype}, which are too narrow for {size} elements",
            "give INT64 indices",
        )
    b.check_table(math.prod(index.shape))
    along = np.ogrid[tuple(map(slice, index.shape))]
    base = sum((along[a] * steps[a] for a in others), np.zeros(index.shape, np.int64))
    table = b.reshape(x, (size,))
    array = b.array(index)
    if array is not None:
        places = np.where(array < 0, array.astype(np.int64) + n, array)
        if places.min() < 0 or places.max() >= n:
            raise b.refusal(
                f"has an index outside of the {n} elements of axis {axis}",
                "change the index in the model",
            )
        numbers = (base + places * steps[axis]).reshape(-1)
        return b.reshape(at_places(b, table, 0, numbers), index.shape)
    outside = -(-size // steps[axis])
    found = b.call("mul", place(b, index, n, outside), float(steps[axis]))
    if base.any():
        rows = b.made("places", base.astype(index.dtype.storage), index.dtype)
        found = b.call("add", found, rows)
    flat = b.formula(found, index.shape, index.dtype)
    gathered = view("gather", (b.tensor(table), b.tensor(flat), 0))
    return b.formula(gathered, index.shape, x.dtype)


def blocks_of(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[GraphValue, int]:
    """Return the input, which must have four axes, and the block size."""
    x, by = one(given), int(node.attribute("blocksize", 0))
    if x.rank != 4 or by < 1:
        raise b.refusal(
            f"has an input of {x.rank} axes and blocksize={by}; ONNX requires 4 axes and a "
            "blocksize of 1 or more",
            "change them in the model",
        )
    return x, by


def depth_to_space(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, by = blocks_of(b, node, given)
    n, c, h, w = x.shape
    if c % by**2:
        raise b.refusal(f"makes blocks of {by} from {c} channels", f"give a multiple of {by**2}")
    if choice_of(b, node, "mode", "DCR", BLOCK_MODES) == "DCR":
        split, order = (n, by, by, c // by**2, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, order = (n, c // by**2, by, by, h, w), (0, 1, 4, 2, 5, 3)
    return b.reshape(b.permute(b.reshape(x, split), order), b.result.shape)


def space_to_depth(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, by = blocks_of(b, node, given)
    n, c, h, w = x.shape
    if h % by or w % by:
        raise b.refusal(f"makes blocks of {by} from {h}x{w}", f"give multiples of {by}")
    mode = choice_of(b, node, "mode", "DCR", BLOCK_MODES)
    split = b.reshape(x, (n, c, h // by, by, w // by, by))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return b.reshape(b.permute(split, order), b.result.shape)


def _copies(name: str, becomes: str, lower: object, unsupported: str = "") -> Operator:
    return Operator(name=name, family="copy", becomes=becomes, lower=lower, unsupported=unsupported)  # type: ignore[arg-type]


OPERATORS: tuple[Operator, ...] = (
    *(
        Operator(name=name, family="view", becomes="strides", lower=reshape)
        for name in ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
    ),
    Operator(name="Transpose", family="view", becomes="strides", lower=transpose),
    Operator(name="Expand", family="view", becomes="strides", lower=expand),
    Operator(
        name="Slice", family="view", becomes="strides, slice", lower=slices,
        unsupported="bounds from data",
    ),
    Operator(
        name="Split", family="view", becomes="strides", lower=split, unsupported="sizes from data"
    ),
    Operator(
        name="Tile", family="view", becomes="strides", lower=tile, unsupported="repeats from data"
    ),
    _copies("Concat", "concat", concat),
    _copies("Pad", "pad; gather in other modes than constant", pad, "pads and value from data"),
    _copies("Gather", "gather; strides if indices are constant", gather),
    _copies("GatherND", "gather; strides if indices are constant", gather_nd),
    _copies("GatherElements", "gather; strides if indices are constant", gather_elements),
    Operator(name="DepthToSpace", family="view", becomes="strides", lower=depth_to_space),
    Operator(name="SpaceToDepth", family="view", becomes="strides", lower=space_to_depth),
)  # fmt: skip
