"""GridSample, and interpolated sampling of images for other operators."""

from __future__ import annotations

import itertools
import math

import numpy as np

from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.operators.registry import Operator, choice_of, folded_terms, one
from kgen.graph.reading.model import Node, Shape
from kgen.ops.expression import Expression, view
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Current names of modes that opset 16 named differently.
OLD_NAMES = {"bilinear": "linear", "bicubic": "cubic"}
#: Offsets of the elements that a mode reads along each axis, from the element below the position.
TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
PADDINGS = ("zeros", "border", "reflection")
#: Most elements that one formula gathers and adds.
MOST_GATHERED = 4
#: Coefficient a of R. Keys' cubic convolution, as in ONNX and PyTorch.
SHARPNESS = -0.75


@frozen
class Axis:
    """Axis of `n` elements whose coordinates lie between `low` and `high`, and its padding mode."""

    n: int
    low: float
    high: float
    padding: str

    def within(self, b: Builder, x: Expression) -> Expression:
        """Apply the padding mode to a coordinate: clamp or reflect it, or leave it for zeros."""
        if self.padding == "zeros":
            return x
        if self.padding == "border":
            is_out = b.call("logical_or", b.call("less", x, self.low), b.call("less", self.high, x))
            return b.call("where", is_out, b.call("clip", x, 0.0, self.n - 1.0), x)
        size = self.high - self.low
        if not size:
            return b.call("where", b.call("equal", x, x), 0.0, x)
        turn = b.call("mod", b.call("sub", x, self.low), 2.0 * size)
        return b.call("add", b.call("min", turn, b.call("sub", 2.0 * size, turn)), self.low)

    def element(self, b: Builder, at: Expression) -> Expression:
        """Return the index of the element at an integral coordinate, after padding."""
        if self.padding == "zeros":
            return at
        if self.padding == "border":
            return b.call("clip", at, 0.0, self.n - 1.0)
        size = round(self.high - self.low)
        if not size:
            return b.call("mul", at, 0.0)
        turn, last = b.call("mod", at, 2.0 * size), size + self.n - 1.0
        # Reflect the n elements at the last element, or at its outer edge.
        return b.call("clip", b.call("min", turn, b.call("sub", last, turn)), 0.0, self.n - 1.0)


def grid_sample(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, grid = one(given), one(given, 1)
    rank = x.rank - 2
    fits = rank >= 1 and grid.rank == x.rank and grid.shape[0] == x.shape[0]
    if not fits or grid.shape[-1] != rank:
        raise b.refusal(
            f"has a grid of shape {by_x(grid.shape)} for {by_x(x.shape)}; ONNX requires as many "
            f"axes, the same batch, and {rank} coordinates",
            CHANGE_MODEL,
        )
    mode = str(node.attribute("mode", "linear"))
    mode = OLD_NAMES.get(mode, mode)
    if mode not in TAPS:
        raise b.refusal(
            f"has mode={mode}; supported are {', '.join(TAPS)}", "export it with one of them"
        )
    padding = choice_of(b, node, "padding_mode", "zeros", PADDINGS)
    is_aligned = bool(node.attribute("align_corners", 0))
    half = 0.0 if is_aligned else 0.5
    axes = [Axis(n=n, low=-half, high=n - 1 + half, padding=padding) for n in x.shape[2:]]
    shape = (*grid.shape[:-1], 1)
    places, firsts = [], []
    for number, axis in enumerate(axes):
        # The last coordinate belongs to the first axis.
        c = b.reshape(b.slice(grid, grid.rank - 1, rank - 1 - number, 1), shape)
        above = b.call("add", c, 1.0)
        if is_aligned:
            place = b.call("mul", above, (axis.n - 1) / 2)
        else:
            place = b.call("mul", b.call("sub", b.call("mul", above, axis.n), 1.0), 0.5)
        if mode == "nearest":
            place = b.call("round", place)
        place = axis.within(b, place)
        if mode == "nearest":
            place = b.call("round", place)
        value, first = cell(b, place, axis.n, shape, grid.dtype)
        places.append(value)
        firsts.append(first)
    return sampled(b, x, axes, places, firsts, mode)


def cell(
    b: Builder, place: Expression, n: int, shape: Shape, dtype: DType
) -> tuple[GraphValue, GraphValue]:
    """Return a position along an axis of n elements, and the index of the element below it.

    The index is limited to 4 elements outside the axis, where no tap reads the image.
    """
    value = b.formula(place, shape, dtype)
    near = b.call("clip", b.call("floor", value), -4.0, n + 4.0)
    return value, b.formula(near, shape, DType.S32)


def sampled(
    b: Builder, x: GraphValue, axes: list[Axis], places: list[GraphValue],
    firsts: list[GraphValue], mode: str,
) -> GraphValue:  # fmt: skip
    """Return the weighted sum of the elements around each position, with channels innermost."""
    shape = places[0].shape
    numbers = np.arange(x.shape[0], dtype=np.int32).reshape(-1, *(1,) * (len(shape) - 1))
    image = b.made("images", numbers, DType.S32)
    terms = weighted(b, x, image, axes, places, firsts, mode)
    found = folded_terms(b, "add", terms, MOST_GATHERED, (*shape[:-1], x.shape[1]), x.dtype)
    return b.permute(found, (0, len(shape) - 1, *range(1, len(shape) - 1)))


def weighted(
    b: Builder, x: GraphValue, image: GraphValue, axes: list[Axis], places: list[GraphValue],
    firsts: list[GraphValue], mode: str,
) -> list[Expression]:  # fmt: skip
    """Return the weighted elements around each position, as terms of a sum.

    Positions have the shape (..., 1), terms (..., channels). `image`, which broadcasts to the
    positions, is the number of the image in the batch.
    """
    batch, channels = x.shape[:2]
    size = math.prod(x.shape[2:])
    if batch * size > DType.S32.limits[1]:  # type: ignore[index]
        raise b.refusal(
            f"samples {batch * size} elements; 2147483647 is the limit", "use a smaller batch"
        )
    rows = b.permute(x, (0, *range(2, x.rank), 1))
    table = b.reshape(rows, (batch * size, channels))
    shape = np.broadcast_shapes(*(place.shape for place in places))
    weights = [
        [weight(b, b.call("sub", p, b.call("floor", p)), tap, mode) for tap in TAPS[mode]]
        for p in places
    ]
    terms = []
    for chosen in itertools.product(range(len(TAPS[mode])), repeat=len(axes)):
        at, inside = b.call("mul", image, float(size)), None
        factor: Expression = b.term(1.0)
        for axis, base, step, which, by_tap in zip(
            axes, firsts, steps_of(axes), chosen, weights, strict=True
        ):
            number = axis.element(b, b.call("add", base, float(TAPS[mode][which])))
            at = b.call("add", at, b.call("mul", number, float(step)))
            if axis.padding == "zeros":
                in_axis = b.call(
                    "logical_and", b.call("less_equal", 0.0, number), b.call("less", number, axis.n)
                )
                inside = in_axis if inside is None else b.call("logical_and", inside, in_axis)
            factor = b.call("mul", factor, by_tap[which])
        # A gather returns zeros for an index past the end of the table.
        flat = at if inside is None else b.call("where", inside, at, float(batch * size))
        index = b.formula(flat, shape, DType.S32)
        line = b.reshape(index, shape[:-1])
        element = view("gather", (b.tensor(table), b.tensor(line), 0))
        terms.append(element if mode == "nearest" else b.call("mul", element, factor))
    return terms


def steps_of(axes: list[Axis]) -> list[int]:
    return [math.prod(axis.n for axis in axes[i + 1 :]) for i in range(len(axes))]


def weight(b: Builder, part: Expression, tap: int, mode: str) -> Expression:
    """Return the weight of one of the elements around a position.

    The element is `tap` elements after the element below the position, and the position is the
    fraction `part` of an element after it.
    """
    if mode != "cubic":
        return part if tap == 1 else b.call("sub", 1.0, part)
    a, x = SHARPNESS, b.call("abs", b.call("sub", part, float(tap)))

    def polynomial(*factors: float) -> Expression:
        total = b.call("mul", x, factors[0])
        for factor in factors[1:-1]:
            total = b.call("mul", b.call("add", total, factor), x)
        return b.call("add", total, factors[-1])

    if tap in (0, 1):
        return polynomial(a + 2, -(a + 3), 0.0, 1.0)
    return polynomial(a, -5 * a, 8 * a, -4 * a)


OPERATORS: tuple[Operator, ...] = (
    Operator(name="GridSample", family="copy", becomes="gather; mul and add", lower=grid_sample),
)
