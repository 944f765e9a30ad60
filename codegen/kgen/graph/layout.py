"""Strided layouts: where the elements of a view lie in the memory of its source tensor.

Reshape, permute, slice and expand change a layout as they change a numpy array's strides. A view is
therefore no copy: a GEMM reads it through strides, an element-wise kernel through views in its
expression.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kgen.graph.reading.model import Array, Shape
from kgen.ops.expression import Expression, variable, view
from kgen.spec.shapes import MAX_RANK, packed
from kgen_runtime.values import frozen


@frozen
class StridedLayout:
    """Strided layout of a tensor in memory.

    Element (i, j, ...) is `offset + i strides[0] + j strides[1] + ...` elements after the first
    element of the memory.
    """

    shape: Shape
    strides: Shape
    offset: int = 0

    @staticmethod
    def of(shape: Shape) -> StridedLayout:
        """Return the layout of a packed tensor."""
        return StridedLayout(shape=shape, strides=packed(shape))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_packed(self) -> bool:
        """Whether the elements are the first ones of the memory, in row-major order."""
        walked = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n > 1]
        wanted = packed(tuple(n for n, _ in walked))
        return self.offset == 0 and tuple(s for _, s in walked) == wanted

    @property
    def coalesced(self) -> StridedLayout:
        """The layout with as few axes as reach the same elements in the same order."""
        walked: list[tuple[int, int]] = []
        for n, stride in zip(self.shape, self.strides, strict=True):
            if n > 1 and walked and walked[-1][1] == stride * n:
                walked[-1] = (walked[-1][0] * n, stride)
            elif n > 1:
                walked.append((n, stride))
        shape, strides = zip(*walked, strict=True) if walked else ((), ())
        return StridedLayout(shape=shape, strides=strides, offset=self.offset)

    def permuted(self, axes: Sequence[int]) -> StridedLayout:
        return dataclasses.replace(
            self,
            shape=tuple(self.shape[axis] for axis in axes),
            strides=tuple(self.strides[axis] for axis in axes),
        )

    def sliced(self, axis: int, start: int, count: int, step: int) -> StridedLayout:
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + start * strides[axis]
        shape[axis], strides[axis] = count, strides[axis] * step
        return StridedLayout(shape=tuple(shape), strides=tuple(strides), offset=offset)

    def expanded(self, shape: Shape) -> StridedLayout:
        """Return the layout of the tensor broadcast to `shape`."""
        new = len(shape) - len(self.shape)
        strides = tuple(
            0 if n == 1 and m != 1 else s
            for n, m, s in zip(self.shape, shape[new:], self.strides, strict=True)
        )
        return dataclasses.replace(self, shape=shape, strides=(0,) * new + strides)

    def reshaped(self, shape: Shape) -> StridedLayout | None:
        """Return the layout of the tensor reshaped to `shape`; None if strides cannot express it.

        The size of each new axis must divide that of adjacent old axes that one stride can walk.
        """
        old = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        strides: list[int] = []
        first = 0
        for n in shape:
            if n == 1:
                strides.append(0)
                continue
            # Old axes that this new axis covers, or begins to cover.
            taken, stop = old[first][0], first + 1
            while taken % n and stop < len(old):
                taken *= old[stop][0]
                stop += 1
            if taken % n:
                return None
            run = old[first:stop]
            if any(s != m * t for (_, s), (m, t) in pairwise(run)):
                return None
            inner = taken // n
            strides.append(run[-1][1] * inner)
            old[first:stop] = [(inner, run[-1][1])] if inner > 1 else []
        return StridedLayout(shape=shape, strides=tuple(strides), offset=self.offset)

    def applied(self, step: ViewStep) -> StridedLayout | None:
        """Return the layout of a view of this layout; None if strides cannot express it."""
        match step.kind:
            case "permute":
                return self.permuted(step.numbers)
            case "slice":
                axis, start, count, by = step.numbers
                return self.sliced(axis, start, count, by)
            case "expand":
                return self.expanded(step.numbers)
        return self.reshaped(step.numbers)


@frozen
class ViewStep:
    """View of a tensor: `reshape`, `permute`, `expand` or `slice`.

    `numbers` are the new shape (reshape, expand), the axes (permute), or the axis, start, count and
    step (slice).
    """

    kind: str
    numbers: tuple[int, ...]

    def of_array(self, array: Array) -> Array:
        """Return this view of a numpy array."""
        match self.kind:
            case "permute":
                return array.transpose(self.numbers)
            case "slice":
                axis, start, count, step = self.numbers
                return array[(slice(None),) * axis + (slice(start, None, step),)].take(
                    range(count), axis
                )
            case "expand":
                return np.broadcast_to(array, self.numbers)
        return array.reshape(self.numbers)

    @property
    def keeps_order(self) -> bool:
        """Whether the view has the same elements in the same order."""
        return self.kind == "reshape"


def replayed(layout: StridedLayout, steps: Sequence[ViewStep]) -> StridedLayout | None:
    """Return the layout after several views, applied in order.

    Returns None if strides cannot express it.
    """
    found: StridedLayout | None = layout
    for step in steps:
        if found is None:
            return None
        found = found.applied(step)
    return found


@frozen
class Seen:
    """Packed input of `shape`, and the views that read a layout's elements from it."""

    shape: Shape
    formula: Expression


@frozen
class Span:
    """Range of a packed memory, `start` to `start + size` elements, and a layout relative to it."""

    start: int
    size: int
    layout: StridedLayout


def span_of(layout: StridedLayout, size: int, multiple: int) -> Span:
    """Return the smallest range of a memory of `size` elements that a layout reads.

    The range starts at a multiple of `multiple` elements and holds whole rows of the outermost
    axis. Layouts that differ only in their offset get ranges of equal size and layout, so that the
    time steps of a recurrent layer share one kernel. Without such a range, the result is the whole
    memory.
    """
    moving = [(n, s) for n, s in zip(layout.shape, layout.strides, strict=True) if n > 1 and s]
    outer = max((s for _, s in moving), default=1)
    if any(s < 0 for _, s in moving):
        return Span(start=0, size=size, layout=layout)
    start = layout.offset - layout.offset % math.lcm(outer, multiple)
    moved = dataclasses.replace(layout, offset=layout.offset - start)
    reached = moved.offset + sum((n - 1) * s for n, s in moving) + 1
    taken = -(-reached // outer) * outer
    if start + taken > size or (moving and seen(moved, taken, "x") is None):
        return Span(start=0, size=size, layout=layout)
    return Span(start=start, size=taken, layout=moved)


def is_seen(layout: StridedLayout, size: int) -> bool:
    """Whether an expression can read the layout, with axes merged if there are too many."""
    shown = layout.coalesced if len(layout.shape) > MAX_RANK else layout
    return seen(shown, size, "x") is not None


def seen(layout: StridedLayout, size: int, name: str) -> Seen | None:
    """Return the views by which an expression reads a layout; None if no views express it.

    The packed memory of `size` elements becomes a tensor with one axis for each stride. Slices and
    a permutation of that tensor then give the layout. Broadcast axes (stride 0) have size 1 in the
    expression, and leading axes of size 1 are omitted.
    """
    moving = [
        i for i, (n, s) in enumerate(zip(layout.shape, layout.strides, strict=True)) if n > 1 and s
    ]
    order = sorted(moving, key=lambda i: -layout.strides[i])
    strides = [layout.strides[i] for i in order]
    if any(s < 0 for s in strides) or any(s == t for s, t in pairwise(strides)):
        return None
    # Split the memory into one axis for each moving axis, sliced with a step if its stride is a
    # multiple of the axis's unit, and one for the gap between elements of the innermost axis.
    units, outer = [], size
    for stride in strides:
        units.append(math.gcd(outer, stride))
        outer = units[-1]
    by = [s // unit for s, unit in zip(strides, units, strict=True)]
    counts = [layout.shape[i] for i in order]
    if outer > 1:
        units, by, counts = [*units, 1], [*by, 1], [*counts, 1]
    sizes = [s // unit for s, unit in pairwise([size, *units])]
    starts = [layout.offset // unit % n for unit, n in zip(units, sizes, strict=True)]
    stops = [a + (n - 1) * step + 1 for a, n, step in zip(starts, counts, by, strict=True)]
    if any(stop > n for stop, n in zip(stops, sizes, strict=True)):
        return None
    # Append axes of size 1 for the layout's axes of size 1 after its first moving axis. The axis of
    # the gap is sliced to size 1 and serves as the first of these. If there are none, it comes
    # first in the order.
    rank = len(layout.shape)
    ones = [i for i in range(min(moving, default=rank), rank) if i not in moving]
    between = [len(order)] if outer > 1 else []
    shape = (*sizes, *(1 for _ in ones[len(between) :]))
    if not shape:
        shape = (1,)
    if len(shape) > MAX_RANK:
        return None
    found = variable(name)
    for axis, (start, stop, step, n) in enumerate(zip(starts, stops, by, sizes, strict=True)):
        if (start, stop, step) != (0, n, 1):
            found = view("slice", (found, axis, start, stop, step))
    axis_of = {i: at for at, i in enumerate(order)}
    axis_of |= zip(ones, [*between, *range(len(sizes), len(shape))], strict=False)
    in_front = () if ones else between
    wanted = [*in_front, *(axis_of[i] for i in range(rank) if i in axis_of)]
    if wanted != list(range(len(shape))) and len(wanted) == len(shape):
        walked = [axis for axis in wanted if axis < len(sizes)]
        if found.primitive is variable(name).primitive and walked == list(range(len(sizes))):
            # Only axes of size 1 move, so the input takes that shape itself.
            shape = tuple(shape[axis] for axis in wanted)
        else:
            found = view("permute", (found, *wanted))
    return Seen(shape=shape, formula=found)
