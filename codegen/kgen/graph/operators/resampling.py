"""Resize: along each axis the nearest elements, or two or four of them with weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.indexing import at_places, repeated, times_of
from kgen.graph.operators.registry import Operator, axes_of, choice_of, one, optional
from kgen.graph.reading.model import Array, Node
from kgen_runtime.dtypes import DType

#: The place in the input of an output's element i, by how the model counts: from the scale, and
#: the sizes of input and output.
COORDINATES: dict[str, Callable[[Array, float, int, int], Array]] = {
    "half_pixel": lambda i, scale, n, m: (i + 0.5) / scale - 0.5,
    "asymmetric": lambda i, scale, n, m: i / scale,
    "pytorch_half_pixel": lambda i, scale, n, m: (
        (i + 0.5) / scale - 0.5 if m > 1 else np.zeros_like(i)
    ),
    "align_corners": lambda i, scale, n, m: i * (n - 1) / (m - 1) if m > 1 else np.zeros_like(i),
    "half_pixel_symmetric": lambda i, scale, n, m: (
        n / 2 * (1 - m / (scale * n)) + (i + 0.5) / scale - 0.5
    ),
}
#: Which of the two elements beside a place is its nearest.
NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


MODES = ("nearest", "linear", "cubic")
#: Elements of an axis, and their weights, for each place.
Taps = list[tuple[Array, Array]]


def resize(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, mode = one(given), node.attribute("mode", "nearest")
    if mode not in MODES or node.attribute("antialias", 0):
        raise b.refusal(
            f"has mode={mode}, or antialias; supported are {', '.join(MODES)} without antialias",
            "export it with one of these",
        )
    if node.operator == "Upsample" or node.opset < 11:
        how, nearest = "asymmetric", "floor"
    else:
        how = node.attribute("coordinate_transformation_mode", "half_pixel")
        nearest = choice_of(b, node, "nearest_mode", "round_prefer_floor", NEAREST)
    if how not in COORDINATES:
        raise b.refusal(
            f"has coordinate_transformation_mode={how}; supported are {', '.join(COORDINATES)}",
            "export it with one of these",
        )
    scales = scales_of(b, node, given)
    times: dict[int, int] = {}
    for axis, m in enumerate(b.result.shape):
        n = x.shape[axis]
        scale = scales[axis] if scales else m / n
        if m == n and scale == 1.0:
            continue
        b.check_table(m)
        places = COORDINATES[how](np.arange(m, dtype=np.float64), scale, n, m)
        if mode == "nearest":
            found = np.clip(NEAREST[nearest](places), 0, n - 1).astype(np.int64)
            if count := times_of(found, n):
                times[axis] = count
            else:
                x = at_places(b, x, axis, found)
        elif mode == "linear":
            x = summed(b, x, axis, linear(places, n))
        else:
            sharpness = node.attribute("cubic_coeff_a", -0.75)
            x = summed(
                b, x, axis, cubic(places, n, sharpness, node.attribute("exclude_outside", 0))
            )
    return repeated(b, x, times) if times else x


def linear(places: Array, n: int) -> Taps:
    """Two elements for each of the places between them."""
    places = np.clip(places, 0, n - 1)
    first = np.minimum(np.floor(places), max(n - 2, 0)).astype(np.int64)
    part = places - first
    return [(first, 1 - part), (np.minimum(first + 1, n - 1), part)]


def cubic(places: Array, n: int, a: float, excludes: bool) -> Taps:
    """Four elements for each of the places between the middle two, by R. Keys' convolution with
    `a`; beyond the ends the last one again, or none with `excludes`."""
    first = np.floor(places).astype(np.int64) - 1
    taps = []
    for more in range(4):
        at = first + more
        x = np.abs(places - at)
        near = ((a + 2) * x - (a + 3)) * x**2 + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weights = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
        outside = (at < 0) | (at >= n)
        taps.append((np.clip(at, 0, n - 1), np.where(excludes & outside, 0.0, weights)))
    total = sum(weights for _, weights in taps)
    return [(at, weights / total) for at, weights in taps]


def summed(b: Builder, x: GraphValue, axis: int, taps: Taps) -> GraphValue:
    """Elements of an axis times their weights, added."""
    dtype = DType.F64 if x.dtype is DType.F64 else DType.F32
    terms, shape = [], x.shape
    for at, weights in taps:
        part = at_places(b, x, axis, at)
        shape = part.shape
        factors = weights.reshape(len(at), *(1,) * (x.rank - axis - 1))
        terms.append(b.call("mul", part, b.made("weights", factors.astype(dtype.storage), dtype)))
    total = terms[0]
    for term in terms[1:]:
        total = b.call("add", total, term)
    return b.formula(total, shape, x.dtype)


def scales_of(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[float, ...]:
    """The scales that a node names, of all axes; none where it names sizes."""
    number = 1 if node.operator == "Upsample" or node.opset < 11 else 2
    value = optional(given, number)
    if value is not None and 0 in value.shape:
        value = None
    sizes = optional(given, 3)
    if value is None:
        if node.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
            raise b.refusal("keeps the aspect ratio", "give its scales")
        if sizes is not None and b.array(sizes) is None:
            raise b.refusal(
                "takes its sizes from data; kgen supports constants only",
                "make them an initializer",
            )
        return tuple(node.attribute("scales", ()))
    array = b.array(value)
    if array is None:
        raise b.refusal(
            "takes its scales from data; kgen supports constants only", "make them an initializer"
        )
    rank = len(b.result.shape)
    axes = axes_of(b, node.attribute("axes", tuple(range(rank))), rank)
    if array.size != len(axes):
        raise b.refusal(f"has {array.size} scales for {len(axes)} axes", "give one for each axis")
    found = [1.0] * len(b.result.shape)
    for axis, scale in zip(axes, array.reshape(-1), strict=True):
        found[axis] = float(scale)
    return tuple(found)


OPERATORS: tuple[Operator, ...] = tuple(
    Operator(
        name=name, family="copy", becomes="strides, gather; mul and add",
        lower=resize, unsupported="antialias=1; tf_crop_and_resize; keep_aspect_ratio_policy; "
        "scales or sizes from data",
    )
    for name in ("Resize", "Upsample")
)  # fmt: skip
