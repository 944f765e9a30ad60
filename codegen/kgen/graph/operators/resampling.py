"""Resize and Upsample: each axis takes the nearest elements, or weighted sums of several."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.indexing import at_places, moved_back, moved_last, repeated, times_of
from kgen.graph.operators.registry import Operator, axes_of, choice_of, one, optional
from kgen.graph.reading.model import Array, Node
from kgen.graph.rewrites.orders import inverse
from kgen_runtime.dtypes import DType

#: Position in the input of output element i, by coordinate_transformation_mode. The arguments are
#: i, the scale, and the sizes of input and output.
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
#: Mode whose coordinates cover a part of the input.
CROP = "tf_crop_and_resize"
#: Element nearest to a position, by nearest_mode.
NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


MODES = ("nearest", "linear", "cubic")
#: Values of keep_aspect_ratio_policy: a scale per axis, or one scale for all.
POLICIES = ("stretch", "not_larger", "not_smaller")
#: Pairs of elements and weights, each with an entry per output position.
Taps = list[tuple[Array, Array]]
#: Most terms that one formula adds; more become a product with a matrix of weights.
MOST_TAPS = 4


def resize(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, mode = one(given), choice_of(b, node, "mode", "nearest", MODES)
    widens = bool(node.attribute("antialias", 0)) and mode != "nearest"
    if node.operator == "Upsample" or node.opset < 11:
        how, nearest = "asymmetric", "floor"
    else:
        how = choice_of(
            b, node, "coordinate_transformation_mode", "half_pixel", (*COORDINATES, CROP)
        )
        nearest = choice_of(b, node, "nearest_mode", "round_prefer_floor", NEAREST)
    scales = scales_of(b, node, given)
    crops = crops_of(b, node, optional(given, 1)) if how == CROP else {}
    # Round integers once, after the last axis.
    is_rounded = x.dtype.is_integer and mode != "nearest"
    if is_rounded:
        x = b.formula(b.call("cast", x), x.shape, DType.F32)
    times: dict[int, int] = {}
    masks: list[GraphValue] = []
    for axis, m in enumerate(b.result.shape):
        n = x.shape[axis]
        scale = scales[axis] if scales else m / n
        if m == n and scale == 1.0 and axis not in crops:
            continue
        b.check_table(m)
        along = np.arange(m, dtype=np.float64)
        if how == CROP:
            places = cropped(along, n, m, *crops.get(axis, (0.0, 1.0)))
            if ((places < 0) | (places > n - 1)).any():
                shape = [m if i == axis else 1 for i in range(x.rank)]
                outside = ((places < 0) | (places > n - 1)).reshape(shape)
                masks.append(b.made("outside", outside, DType.BOOL))
        else:
            places = COORDINATES[how](along, scale, n, m)
        if mode == "nearest":
            found = np.clip(NEAREST[nearest](places), 0, n - 1).astype(np.int64)
            if count := times_of(found, n):
                times[axis] = count
            else:
                x = at_places(b, x, axis, found)
            continue
        taps = taps_of(
            mode,
            places,
            n,
            min(scale, 1.0) if widens else 1.0,
            float(node.attribute("cubic_coeff_a", -0.75)),
            bool(node.attribute("exclude_outside", 0)),
        )
        x = summed(b, x, axis, taps) if len(taps) <= MOST_TAPS else multiplied(b, x, axis, taps)
    x = repeated(b, x, times) if times else x
    value = float(node.attribute("extrapolation_value", 0.0))
    for mask in masks:
        x = b.formula(b.call("where", mask, value, x), x.shape, x.dtype)
    return rounded(b, x, b.result.dtype) if is_rounded else x


def rounded(b: Builder, x: GraphValue, dtype: DType) -> GraphValue:
    """Round to integers; 8 and 16 bits saturate, because cubic weights overshoot."""
    found = b.call("round", x)
    if dtype.itemsize <= np.dtype(np.int16).itemsize:
        limits = np.iinfo(dtype.storage)
        found = b.call("min", b.call("max", found, float(limits.min)), float(limits.max))
    return b.formula(found, x.shape, dtype)


def cropped(along: Array, n: int, m: int, start: float, end: float) -> Array:
    """Return positions in the part of an axis from `start` to `end`, as fractions of its length."""
    if m == 1:
        return np.full(1, (start + end) * (n - 1) / 2)
    return start * (n - 1) + along * (end - start) * (n - 1) / (m - 1)


def crops_of(b: Builder, node: Node, roi: GraphValue | None) -> dict[int, tuple[float, float]]:
    """Return the resized part of each axis, for tf_crop_and_resize."""
    array = b.array(roi)
    rank = len(b.result.shape)
    axes = axes_of(b, node.attribute("axes", tuple(range(rank))), rank)
    if array is None or array.size != 2 * len(axes):
        raise b.refusal(
            f"has roi from data, or not {2 * len(axes)} numbers for {len(axes)} axes; kgen "
            "supports constants only",
            "make roi an initializer of the model",
        )
    numbers = array.reshape(2, -1).astype(np.float64).T.tolist()
    return {axis: (start, end) for axis, (start, end) in zip(axes, numbers, strict=True)}


def taps_of(mode: str, places: Array, n: int, scale: float, a: float, excludes: bool) -> Taps:
    """Return the elements around each position with their weights.

    A scale below 1 widens the filter by its reciprocal (antialiasing).
    """
    if scale == 1.0:
        return linear(places, n) if mode == "linear" else cubic(places, n, a, excludes)
    reach = (1.0 if mode == "linear" else 2.0) / scale
    first = np.floor(places).astype(np.int64) + int(np.floor(-reach)) + 1
    taps = []
    for more in range(2 * math.ceil(reach)):
        at = first + more
        x = np.abs(places - at) * scale
        weights = np.clip(1 - x, 0, 1) if mode == "linear" else keys(x, a)
        outside = (at < 0) | (at >= n)
        taps.append((np.clip(at, 0, n - 1), np.where(excludes & outside, 0.0, weights)))
    return normalised(taps)


def normalised(taps: Taps) -> Taps:
    total = sum(weights for _, weights in taps)
    return [(at, weights / total) for at, weights in taps]


def keys(x: Array, a: float) -> Array:
    """Return weights at these distances: R. Keys' cubic convolution."""
    near = ((a + 2) * x - (a + 3)) * x**2 + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def linear(places: Array, n: int) -> Taps:
    """Return the two elements beside each position, with linear weights."""
    places = np.clip(places, 0, n - 1)
    first = np.minimum(np.floor(places), max(n - 2, 0)).astype(np.int64)
    part = places - first
    return [(first, 1 - part), (np.minimum(first + 1, n - 1), part)]


def cubic(places: Array, n: int, a: float, excludes: bool) -> Taps:
    """Return the four elements around each position, with weights of R. Keys' cubic convolution.

    Past the ends, the last element repeats, or has weight 0 with `excludes`.
    """
    first = np.floor(places).astype(np.int64) - 1
    taps = []
    for more in range(4):
        at = first + more
        weights = keys(np.abs(places - at), a)
        outside = (at < 0) | (at >= n)
        taps.append((np.clip(at, 0, n - 1), np.where(excludes & outside, 0.0, weights)))
    return normalised(taps)


def multiplied(b: Builder, x: GraphValue, axis: int, taps: Taps) -> GraphValue:
    """Multiply an axis by a matrix of weights, in f32 or f64."""
    dtype = DType.F64 if x.dtype is DType.F64 else DType.F32
    n, m = x.shape[axis], len(taps[0][0])
    b.check_table(n * m)
    matrix = np.zeros((n, m))
    for at, weights in taps:
        np.add.at(matrix, (at, np.arange(m)), weights)
    wide = x if x.dtype is dtype else b.formula(b.call("cast", x), x.shape, dtype)
    factors = b.made("matrix", matrix.astype(dtype.storage), dtype)
    found = b.product(moved_last(b, wide, axis), factors)
    narrow = found if x.dtype is dtype else b.formula(b.term(found), found.shape, x.dtype)
    return moved_back(b, narrow, axis)


def summed(b: Builder, x: GraphValue, axis: int, taps: Taps) -> GraphValue:
    """Add weighted elements of an axis, in the memory order of the tensor."""
    if order := b.order_of(x):
        inner = b.permute(x, inverse(order))
        return b.permute(summed(b, inner, order[axis], taps), order)
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
    """Return the scales of all axes; () if they follow from the sizes."""
    number = 1 if node.operator == "Upsample" or node.opset < 11 else 2
    value = optional(given, number)
    if value is not None and 0 in value.shape:
        value = None
    sizes = optional(given, 3)
    rank = len(b.result.shape)
    axes = axes_of(b, node.attribute("axes", tuple(range(rank))), rank)
    policy = choice_of(b, node, "keep_aspect_ratio_policy", "stretch", POLICIES)
    if value is None and sizes is None:
        return tuple(node.attribute("scales", ()))
    array = b.array(sizes if value is None else value)
    what = "sizes" if value is None else "scales"
    if array is None:
        raise b.refusal(
            f"reads its {what} from data; kgen supports constants only",
            f"make the {what} an initializer",
        )
    if array.size != len(axes):
        raise b.refusal(f"has {array.size} {what} for {len(axes)} axes", "give one for each axis")
    found = [1.0] * rank
    numbers = [float(v) for v in array.reshape(-1)]
    if value is None:
        if policy == "stretch":
            return ()
        ratios = [m / one(given).shape[axis] for axis, m in zip(axes, numbers, strict=True)]
        numbers = [min(ratios) if policy == "not_larger" else max(ratios)] * len(axes)
    for axis, scale in zip(axes, numbers, strict=True):
        found[axis] = scale
    return tuple(found)


OPERATORS: tuple[Operator, ...] = tuple(
    Operator(
        name=name, family="copy", becomes="strides, gather; mul and add",
        lower=resize, unsupported="scales, sizes or roi from data",
    )
    for name in ("Resize", "Upsample")
)  # fmt: skip
