"""Operators with data-dependent output sizes: NonZero, Compress, TopK, Unique, NonMaxSuppression.

Each becomes nodes of fixed shapes that write into an output of the largest possible size, and count
its elements. A running sum of flags numbers the selected elements, and a scatter writes each to the
index of its number. Elements that are not selected, or exceed the capacity, are not written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from kgen.errors import GraphError
from kgen.graph.reading.inference import dims_of
from kgen.graph.reading.model import Array
from kgen.graph.reading.written_out import attributes_of, constant_node
from kgen_runtime.calls.checked_runs import NO_PLACE
from kgen_runtime.schema.program import Count

Types = Mapping[str, onnx.TypeProto]
Constants = Mapping[str, Array]
#: Most boxes per class to which a NonMaxSuppression is unrolled.
MOST_SELECTED = 1024
FLOATS = (T.FLOAT, T.FLOAT16, T.BFLOAT16, T.DOUBLE)


class Counted:
    """Nodes that replace one node, and the counts of its results."""

    def __init__(
        self,
        node: onnx.NodeProto,
        types: Types,
        constants: Constants,
        capacity: int | None,
        taken: Container[str],
    ) -> None:
        """`capacity` is the user's limit of elements; `taken` are names of values in the model."""
        self.node, self.types, self.constants, self.given = node, types, constants, capacity
        self._taken = taken
        self.attributes = attributes_of(node)
        self.results = [*node.output, *[""] * 4]
        self.prefix = next(filter(None, node.output))
        self.nodes: list[onnx.NodeProto] = []
        self.counts: list[Count] = []

    # -- nodes ----------------------------------------------------------------------------------

    def add(self, operator: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        name = result or self._new_name()
        made = helper.make_node(operator, inputs, [name], name=self.node.name, **attributes)
        self.nodes.append(made)
        return name

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name = self._new_name()
        self.nodes.append(constant_node(name, np.asarray(value, dtype)))
        return name

    def _new_name(self) -> str:
        return self._unused(f"{self.prefix}/{len(self.nodes)}")

    def _unused(self, wanted: str) -> str:
        """Return the wanted name, with a number appended if the model has a value of this name."""
        names = itertools.chain([wanted], (f"{wanted}#{i}" for i in itertools.count(2)))
        return next(n for n in names if n not in self._taken and n not in self.types)

    def reshaped(self, x: str, *shape: int) -> str:
        return self.add("Reshape", x, self.constant(shape))

    def cast(self, x: str, to: int) -> str:
        return self.add("Cast", x, to=to)

    def number(self, x: str) -> str:
        """Reshape a value of one element to a scalar."""
        return self.add("Reshape", x, self.constant(np.zeros(0)))

    # -- parts ----------------------------------------------------------------------------------

    def shape(self, number: int) -> tuple[int, ...]:
        return dims_of(self.types[self.node.input[number]])

    def dtype(self, number: int) -> int:
        return int(self.types[self.node.input[number]].tensor_type.elem_type)

    def capacity(self, most: int) -> int:
        """Return the size of the output: the user's capacity, at most `most`."""
        return most if self.given is None else min(self.given, most)

    def counted(self, result: str, axis: int, size: str) -> None:
        """Declare that the value `size`, an integer, is the size of a result along an axis."""
        if result:
            name = self._unused(f"{result}.count")
            self.add("Cast", self.number(size), result=name, to=T.INT64)
            self.counts.append(Count(output=result, axis=axis, size=name))

    def numbered(self, flags: str, n: int) -> tuple[str, str]:
        """Return the rank of each element among the flagged ones, and their number."""
        sums = self.add("CumSum", self.cast(flags, T.INT32), self.constant(0))
        total = self.add("Slice", sums, self.constant([n - 1]), self.constant([n]))
        return self.add("Sub", sums, self.constant(1, np.int32)), total

    def scattered(self, flags: str, numbers: str, n: int, room: int) -> str:
        """Return the flagged ones of 0, 1, ..., n - 1, each written to the index `numbers`."""
        if room < n:
            has_room = self.add("Less", numbers, self.constant(room, np.int32))
            flags = self.add("And", flags, has_room)
        at = self.add("Where", flags, numbers, self.constant(NO_PLACE, np.int32))
        rows = self.reshaped(self.cast(at, T.INT64), n, 1), self.constant(np.arange(n))
        return self.add("ScatterND", self.constant(np.zeros(room)), *rows)

    def flagged(self, flags: str, n: int, room: int) -> tuple[str, str]:
        """Return the indices of flagged elements in order, and how many there are."""
        numbers, total = self.numbered(flags, n)
        return self.scattered(flags, numbers, n, room), total


def non_zero(c: Counted) -> None:
    """Write NonZero: the coordinates of nonzero elements, a row per axis."""
    sizes = c.shape(0)
    n = math.prod(sizes)
    room = c.capacity(n)
    flags = c.reshaped(c.cast(c.node.input[0], T.BOOL), n)
    places, total = c.flagged(flags, n, room)
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    rows = c.add("Div", places, c.constant(np.reshape(steps, (-1, 1))))
    result = c.results[0]
    c.add("Mod", rows, c.constant(np.reshape(sizes, (-1, 1))), result=result)
    c.counted(result, 1, total)


def compress(c: Counted) -> None:
    """Write Compress: the selected elements along an axis, or of the flattened tensor."""
    x, condition = c.node.input
    axis = c.attributes.get("axis")
    if axis is None:
        x, axis = c.reshaped(x, math.prod(c.shape(0))), 0
    else:
        axis %= len(c.shape(0))
    (n,) = c.shape(1)
    room = c.capacity(n)
    places, total = c.flagged(condition, n, room)
    c.add("Gather", x, places, result=c.results[0], axis=axis)
    c.counted(c.results[0], axis, total)


def top_k(c: Counted) -> None:
    """Write TopK with the largest possible K; the first k results count."""
    k = c.node.input[1]
    axis = c.attributes.get("axis", -1) % len(c.shape(0))
    room = c.capacity(c.shape(0)[axis])
    made = onnx.NodeProto()
    made.CopyFrom(c.node)
    made.input[1] = c.constant([room])
    c.nodes.append(made)
    for result in c.node.output:
        c.counted(result, axis, k)


def unique(c: Counted) -> None:
    """Write Unique: the distinct elements, or distinct slices along an axis.

    All pairs are compared. An element counts if no equal one precedes it. Its index is the number
    of smaller counted elements if sorted, otherwise of the counted elements before it.
    """
    x, axis = c.node.input[0], c.attributes.get("axis")
    shape, kind = c.shape(0), c.dtype(0)
    n = math.prod(shape) if axis is None else shape[axis]
    width = math.prod(shape) // n
    if axis is None:
        x, axis = c.reshaped(x, n), 0
        rows = x
    else:
        axis %= len(shape)
        order = [axis, *(i for i in range(len(shape)) if i != axis)]
        rows = c.add("Transpose", x, perm=order)
    room = c.capacity(n)
    if kind in (T.FLOAT16, T.BFLOAT16, T.BOOL, T.INT8, T.UINT8):
        rows = c.cast(rows, T.FLOAT if kind in FLOATS else T.INT32)
    equal, less = _compared(c, rows, n, width, kind in FLOATS)
    numbers = c.constant(np.arange(n))
    first = c.add("ArgMax", c.cast(equal, T.INT32), axis=1, keepdims=0)
    flags = c.add("Equal", first, numbers)
    before, total = c.numbered(flags, n)
    if c.attributes.get("sorted", 1):
        counting = c.add("And", less, c.reshaped(flags, 1, n))
        place = c.add("ReduceSum", c.cast(counting, T.INT32), c.constant([1]), keepdims=0)
    else:
        place = c.add("Gather", before, first)
    at = c.scattered(flags, place, n, room)
    values, indices, inverse, counts = c.results[:4]
    if values:
        c.add("Gather", x, at, result=values, axis=axis)
        c.counted(values, axis, total)
    if indices:
        c.add("Identity", at, result=indices)
        c.counted(indices, 0, total)
    if inverse:
        c.add("Cast", place, result=inverse, to=T.INT64)
    if counts:
        times = c.add("ReduceSum", c.cast(equal, T.INT64), c.constant([1]), keepdims=0)
        c.add("Gather", times, at, result=counts)
        c.counted(counts, 0, total)


def _compared(c: Counted, rows: str, n: int, width: int, is_float: bool) -> tuple[str, str]:
    """Return two n x n tables: whether row j equals row i, and whether it is less, at [i, j].

    NaN equals NaN and is larger than every number.
    """
    mine, other = c.reshaped(rows, n, 1, width), c.reshaped(rows, 1, n, width)
    equal, less = c.add("Equal", other, mine), c.add("Less", other, mine)
    if is_float:
        nans = c.add("IsNaN", mine), c.add("IsNaN", other)
        equal = c.add("Or", equal, c.add("And", *nans))
        less = c.add("Or", less, c.add("And", nans[0], c.add("Not", nans[1])))
    if width == 1:
        return c.reshaped(equal, n, n), c.reshaped(less, n, n)
    # The first column that differs decides.
    differs = c.cast(c.add("Not", equal), T.INT32)
    first = c.add("ArgMax", differs, axis=2, keepdims=1)
    decides = c.add("Equal", first, c.constant(np.arange(width)))
    is_less = c.cast(c.add("And", less, decides), T.INT32)
    axes = c.constant([2])
    any_differs, any_less = (
        c.cast(c.add("ReduceMax", flags, axes, keepdims=0), T.BOOL) for flags in (differs, is_less)
    )
    return c.add("Not", any_differs), any_less


def non_max_suppression(c: Counted) -> None:
    """Write NonMaxSuppression: select the best box, remove boxes that overlap it, and repeat.

    A removed box has a score of minus infinity.
    """
    given = [*c.node.input, *[""] * 3]
    boxes, scores = given[:2]
    batch, classes, n = c.shape(1)
    known = c.constants.get(given[2]) if given[2] else np.zeros(1, np.int64)
    most = n if known is None else min(n, max(0, int(known.reshape(-1)[0])))
    room = c.capacity(batch * classes * most)
    # One more box than the capacity shows that the capacity was too small.
    steps = min(most, room + 1)
    if steps > MOST_SELECTED:
        raise GraphError(
            f"node {c.node.name or c.prefix} (NonMaxSuppression) selects up to {steps} boxes of a "
            f"class; {MOST_SELECTED} is the limit; make max_output_boxes_per_class a smaller "
            f"constant, or give --capacity {c.prefix}=300"
        )
    result = c.results[0]
    if not room or not steps:
        c.nodes.append(constant_node(result, np.zeros((0, 3), np.int64)))
        return
    edges = _edges(c, boxes, batch, n)
    wide = c.constant((batch, classes, n))
    edges = [c.add("Expand", edge, wide) for edge in edges]
    numbers, gone = c.constant(np.arange(n)), c.constant(-np.inf, np.float32)
    left, axes = scores, c.constant([2])
    if given[4]:
        left = c.add("Where", c.add("Greater", scores, c.number(given[4])), scores, gone)
    limit = c.number(given[3]) if given[3] else c.constant(0, np.float32)
    taken, valid = [], []
    for _ in range(steps):
        best = c.add("ArgMax", left, axis=2, keepdims=1)
        taken.append(best)
        highest = c.add("ReduceMax", left, axes, keepdims=1)
        valid.append(c.add("Greater", highest, gone))
        one = [c.add("GatherElements", edge, best, axis=2) for edge in edges]
        overlaps = c.add("Greater", _overlap(c, edges, one), limit)
        leaves = c.add("Or", overlaps, c.add("Equal", numbers, best))
        left = c.add("Where", leaves, gone, left)
    total = batch * classes * steps
    flags = c.add("Concat", *valid, axis=2)
    if known is None:
        most_wanted = c.number(given[2])
        flags = c.add("And", flags, c.add("Less", c.constant(np.arange(steps)), most_wanted))
    places, count = c.flagged(c.reshaped(flags, total), total, room)
    selected = c.add("Gather", c.reshaped(c.add("Concat", *taken, axis=2), total), places)
    pair = c.add("Div", places, c.constant(steps))
    columns = c.add("Div", pair, c.constant(classes)), c.add("Mod", pair, c.constant(classes))
    parts = [c.reshaped(part, room, 1) for part in (*columns, selected)]
    c.add("Concat", *parts, result=result, axis=1)
    c.counted(result, 0, count)


def _edges(c: Counted, boxes: str, batch: int, n: int) -> list[str]:
    """Return the lower and upper edges of all boxes along both axes, and their areas."""
    a, b, d, e = (
        c.reshaped(c.add("Slice", boxes, *(c.constant([v]) for v in (i, i + 1, 2))), batch, 1, n)
        for i in range(4)
    )
    if c.attributes.get("center_point_box", 0):
        half = c.constant(0.5, np.float32)
        width, height = c.add("Mul", d, half), c.add("Mul", e, half)
        low = [c.add("Sub", a, width), c.add("Sub", b, height)]
        high = [c.add("Add", a, width), c.add("Add", b, height)]
    else:
        low = [c.add("Min", a, d), c.add("Min", b, e)]
        high = [c.add("Max", a, d), c.add("Max", b, e)]
    area = c.add("Mul", c.add("Sub", high[0], low[0]), c.add("Sub", high[1], low[1]))
    return [*low, *high, area]


def _overlap(c: Counted, all_of: list[str], one: list[str]) -> str:
    """Return the intersection over union of all boxes with one box."""
    zero = c.constant(0, np.float32)
    sides = [
        c.add(
            "Max",
            c.add(
                "Sub",
                c.add("Min", all_of[2 + axis], one[2 + axis]),
                c.add("Max", all_of[axis], one[axis]),
            ),
            zero,
        )
        for axis in range(2)
    ]
    shared = c.add("Mul", *sides)
    union = c.add("Sub", c.add("Add", all_of[4], one[4]), shared)
    return c.add("Div", shared, union)


#: Function that writes the nodes of each operator.
COUNTED: Mapping[str, Callable[[Counted], None]] = {
    "Compress": compress,
    "NonMaxSuppression": non_max_suppression,
    "NonZero": non_zero,
    "TopK": top_k,
    "Unique": unique,
}


#: Operators whose second input decides the size of their outputs.
BY_SECOND = ("Compress", "TopK")


def decides(node: onnx.NodeProto) -> str:
    """Return the input whose values decide the size of a node's outputs."""
    return str(node.input[node.op_type in BY_SECOND])


def is_counted(node: onnx.NodeProto, constants: Constants) -> bool:
    """Whether the size of a node's outputs depends on data."""
    if node.op_type in BY_SECOND:
        return len(node.input) > 1 and node.input[1] not in constants
    return node.op_type in COUNTED
