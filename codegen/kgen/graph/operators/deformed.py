"""DeformConv: a convolution whose sampling positions are offset by data."""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.grids import Axis, cell, sampled
from kgen.graph.operators.registry import Operator, check_shape, one, optional
from kgen.graph.operators.views import joined
from kgen.graph.operators.windows import Windows, windows_of
from kgen.graph.reading.model import Node, Shape


def deform_conv(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower DeformConv: sample the columns of all windows, then multiply them by the weights."""
    x, w, offset = (one(given, i) for i in range(3))
    bias, mask = optional(given, 3), optional(given, 4)
    if x.rank != 4 or w.rank != 4:
        raise b.refusal(f"has an image of {x.rank} axes; 4 are supported", "pass images of 4 axes")
    groups, parts = int(node.attribute("group", 1)), int(node.attribute("offset_group", 1))
    (batch, channels), counts = x.shape[:2], b.result.shape[2:]
    taps = math.prod(w.shape[2:])
    if min(groups, parts) < 1 or channels % parts or channels != groups * w.shape[1]:
        raise b.refusal(
            f"has group={groups} and offset_group={parts} for {channels} channels and weights of "
            f"{w.shape[1]}; they do not fit",
            "change them in the model",
        )
    check_shape(b, w, (*w.shape[:2], *node.attribute("kernel_shape", w.shape[2:])), "weights")
    check_shape(b, offset, (batch, parts * taps * 2, *counts), "offsets")
    check_shape(b, mask, (batch, parts * taps, *counts), "a mask")
    check_shape(b, bias, (w.shape[0],), "a bias")
    windows = windows_of(b, node, w.shape[2:], x.shape[2:], counts)
    each = channels // parts
    columns = []
    for part in range(parts):
        image = b.slice(x, 1, part * each, each)
        places = b.slice(offset, 1, part * taps * 2, taps * 2)
        found = at_offsets(b, image, windows, b.reshape(places, (batch, taps, 2, *counts)))
        if mask is not None:
            weights = b.reshape(b.slice(mask, 1, part * taps, taps), (batch, 1, taps, *counts))
            found = b.formula(b.call("mul", found, weights), found.shape, x.dtype)
        columns.append(found)
    size = math.prod(counts)
    rows = b.reshape(joined(b, columns, 1), (batch, groups, w.shape[1] * taps, size))
    matrix = b.reshape(w, (1, groups, w.shape[0] // groups, w.shape[1] * taps))
    y = b.reshape(b.product(matrix, rows), b.result.shape)
    if bias is None:
        return y
    added = b.call("add", y, b.reshape(bias, (w.shape[0], 1, 1)))
    return b.formula(added, y.shape, x.dtype)


def at_offsets(b: Builder, x: GraphValue, windows: Windows, offset: GraphValue) -> GraphValue:
    """Return image elements sampled at the positions of all windows, plus offsets.

    Offsets have the shape (batch, taps, 2, rows, columns), the result (batch, channels, taps, rows,
    columns).
    """
    batch, taps, _, *counts = offset.shape
    shape: Shape = (batch, taps, *counts, 1)
    axes, places, firsts = [], [], []
    for axis, window in enumerate(windows):
        tap = np.indices([one_of.size for one_of in windows])[axis].reshape(-1, 1, 1, 1)
        at = np.arange(window.count).reshape(-1, *(1,) * (2 - axis))
        base = tap * window.apart + at * window.step - window.pads[0]
        start = b.made("places", base.astype(x.dtype.storage), x.dtype)
        moved = b.reshape(b.slice(offset, 2, axis, 1), shape)
        n = x.shape[2 + axis]
        place, first = cell(b, b.call("add", moved, start), n, shape, x.dtype)
        axes.append(Axis(n=n, low=0.0, high=n - 1.0, padding="zeros"))
        places.append(place)
        firsts.append(first)
    return sampled(b, x, axes, places, firsts, "linear")


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="DeformConv", family="product", becomes="gather, mul, add; matmul", lower=deform_conv
    ),
)
