"""Resize: along each axis the nearest elements, or two of them with weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.graph.ir import Builder, Value
from kgen.graph.operators.places import at_places, repeated, times_of
from kgen.graph.operators.registry import Operator, one, optional
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


def resize(b: Builder, node: Node, given: list[Value | None]) -> Value:
    x, mode = one(given), node.attribute("mode", "nearest")
    if mode not in ("nearest", "linear") or node.attribute("antialias", 0):
        raise b.refusal(f"has mode={mode}, or antialias; kgen has nearest and linear")
    if node.operator == "Upsample" or node.opset < 11:
        how, nearest = "asymmetric", "floor"
    else:
        how = node.attribute("coordinate_transformation_mode", "half_pixel")
        nearest = node.attribute("nearest_mode", "round_prefer_floor")
    if how not in COORDINATES:
        raise b.refusal(
            f"has coordinate_transformation_mode={how}; kgen has {', '.join(COORDINATES)}"
        )
    scales = scales_of(b, node, given)
    times: dict[int, int] = {}
    for axis, m in enumerate(b.result.shape):
        n = x.shape[axis]
        scale = scales[axis] if scales else m / n
        if m == n and scale == 1.0:
            continue
        places = COORDINATES[how](np.arange(m, dtype=np.float64), scale, n, m)
        if mode == "nearest":
            found = np.clip(NEAREST[nearest](places), 0, n - 1).astype(np.int64)
            if count := times_of(found, n):
                times[axis] = count
            else:
                x = at_places(b, x, axis, found)
        else:
            x = between(b, x, axis, places)
    return repeated(b, x, times) if times else x


def between(b: Builder, x: Value, axis: int, places: Array) -> Value:
    """Two elements of an axis with weights, for each of the places between them."""
    n = x.shape[axis]
    places = np.clip(places, 0, n - 1)
    first = np.minimum(np.floor(places), max(n - 2, 0)).astype(np.int64)
    shape = (len(places), *(1,) * (x.rank - axis - 1))
    dtype = DType.F64 if x.dtype is DType.F64 else DType.F32
    part = (places - first).reshape(shape)
    low, high = (at_places(b, x, axis, np.minimum(first + more, n - 1)) for more in (0, 1))
    weights = [b.made("weights", w.astype(dtype.storage), dtype) for w in (1 - part, part)]
    total = b.call("add", b.call("mul", low, weights[0]), b.call("mul", high, weights[1]))
    return b.formula(total, low.shape, x.dtype)


def scales_of(b: Builder, node: Node, given: list[Value | None]) -> tuple[float, ...]:
    """The scales that a node names, of all axes; none where it names sizes."""
    number = 1 if node.operator == "Upsample" or node.opset < 11 else 2
    value = optional(given, number)
    if value is not None and 0 in value.shape:
        value = None
    sizes = optional(given, 3)
    if value is None:
        if node.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
            raise b.refusal("keeps the aspect ratio; give its scales")
        if sizes is not None and b.array(sizes) is None:
            raise b.refusal("takes its sizes from data; kgen takes constant ones")
        return tuple(node.attribute("scales", ()))
    array = b.array(value)
    if array is None:
        raise b.refusal("takes its scales from data; kgen takes constant ones")
    axes = node.attribute("axes", tuple(range(len(b.result.shape))))
    found = [1.0] * len(b.result.shape)
    for axis, scale in zip(axes, array.reshape(-1), strict=True):
        found[axis] = float(scale)
    return tuple(found)


OPERATORS: tuple[Operator, ...] = tuple(
    Operator(
        name=name, family="copy", becomes="strides, gather; linear: mul and add of two",
        lower=resize, limits="nearest or linear, constant scales or sizes",
    )
    for name in ("Resize", "Upsample")
)  # fmt: skip
