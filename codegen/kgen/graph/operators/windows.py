"""Sliding windows of convolutions and poolings, described axis by axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.graph.ir import Builder
from kgen.graph.operators.registry import choice_of
from kgen.graph.reading.model import Array, Node, Shape
from kgen.ops.expression import Expression, view
from kgen_runtime.values import frozen

#: Most elements along an axis, with padding.
MOST_PADDED = 1 << 20
#: Values of auto_pad; NOTSET uses the node's pads.
AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@frozen
class Window:
    """Sliding windows along an axis of `length` elements.

    There are `count` windows, whose starts are `step` elements apart (stride). A window has `size`
    elements, `apart` elements from one another (dilation). The first window starts `before`
    elements ahead of the axis. `pads` is the padding that the model gives, and `after` the padding
    that the last window needs, negative if it ends before the axis does.
    """

    length: int
    size: int
    step: int
    apart: int
    count: int
    pads: tuple[int, int]

    @property
    def before(self) -> int:
        return self.pads[0]

    @property
    def after(self) -> int:
        seen = (self.count - 1) * self.step + (self.size - 1) * self.apart + 1
        return seen - self.length - self.before

    @property
    def padded(self) -> int:
        return self.length + self.before + max(self.after, 0)

    def places(self) -> Array:
        """Return the index of the element at each position of each window, count x size.

        Indices below 0 and from `length` on are padding.
        """
        starts = np.arange(self.count) * self.step - self.before
        return starts[:, None] + np.arange(self.size) * self.apart


Windows = tuple[Window, ...]


def windows_of(b: Builder, node: Node, sizes: Shape, lengths: Shape, counts: Shape) -> Windows:
    """Return the windows of a node by its attributes.

    `sizes` are the kernel sizes, `lengths` the input sizes, and `counts` the numbers of windows.
    """
    rank = len(lengths)
    if rank < 1 or len(sizes) != rank:
        raise b.refusal(
            f"has kernel_shape with {len(sizes)} numbers for {rank} spatial axes",
            "give one number for each axis",
        )
    steps = _numbers(b, node, "strides", (1,) * rank, 1)
    apart = _numbers(b, node, "dilations", (1,) * rank, 1)
    pads = list(_numbers(b, node, "pads", (0,) * 2 * rank, 0))
    how = choice_of(b, node, "auto_pad", "NOTSET", AUTO_PADS)
    if how == "VALID":
        pads = [0] * 2 * rank
    if how.startswith("SAME"):
        for axis in range(rank):
            seen = (counts[axis] - 1) * steps[axis] + (sizes[axis] - 1) * apart[axis] + 1
            more = max(0, seen - lengths[axis])
            least = more // 2
            before = least if how == "SAME_UPPER" else more - least
            pads[axis], pads[rank + axis] = before, more - before
    found = tuple(
        Window(
            length=lengths[axis],
            size=sizes[axis],
            step=steps[axis],
            apart=apart[axis],
            count=counts[axis],
            pads=(pads[axis], pads[rank + axis]),
        )
        for axis in range(rank)
    )
    for window in found:
        reach, room = (window.size - 1) * window.apart + 1, window.length + sum(window.pads)
        # With ceil_mode the last window may exceed the end by less than a step.
        if reach > room + (window.step - 1 if node.attribute("ceil_mode", 0) else 0):
            raise b.refusal(
                f"has a window that spans {reach} elements; {room} is the limit, the elements of "
                "the axis with their pads",
                "use a smaller window or larger pads",
            )
        if max(window.padded, *window.pads) > MOST_PADDED:
            raise b.refusal(
                f"has {window.padded} elements along an axis with its pads; {MOST_PADDED} is the "
                "limit",
                "use smaller pads",
            )
    return found


def _numbers(
    b: Builder, node: Node, name: str, default: Sequence[int], least: int
) -> tuple[int, ...]:
    """Return an attribute with as many numbers as its default.

    Raises GraphError for one below `least`.
    """
    found = tuple(node.attribute(name, default))
    if len(found) != len(default) or min(found) < least:
        shown = ",".join(map(str, found))
        raise b.refusal(
            f"has {name}={shown}; it must be {len(default)} numbers of {least} or more",
            "change it in the model",
        )
    return found


def padded(x: Expression, windows: Windows, axes: Sequence[int], value: float) -> Expression:
    """Return an expression with padding along these axes."""
    for window, axis in zip(windows, axes, strict=True):
        before, after = window.before, max(window.after, 0)
        if before or after:
            x = view("pad", (x, axis, before, after, value))
    return x


def seen_at(x: Expression, windows: Windows, axes: Sequence[int], at: Sequence[int]) -> Expression:
    """Return the elements at one position of all windows, from a padded expression."""
    for window, axis, place in zip(windows, axes, at, strict=True):
        start = place * window.apart
        stop = start + (window.count - 1) * window.step + 1
        if (start, stop, window.step) != (0, window.padded, 1):
            x = view("slice", (x, axis, start, stop, window.step))
    return x


def places_of(windows: Windows) -> list[tuple[int, ...]]:
    return list(np.ndindex(*(window.size for window in windows)))


def counts_of(windows: Windows) -> Shape:
    return tuple(window.count for window in windows)
