"""Elements of a convolution with its epilogue, by its definition: sums over places and channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.evaluators import Evaluator
from kgen_runtime.expressions.formulas import formulas_in
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.reference.numbers import Buffers, Element, read
from kgen_runtime.reference.sums import dot


def conv2d(spec: Mapping[str, Any], buffers: Buffers) -> Element:
    """Elements of epilogue(convolution of a with b), by (group, number of the output position among
    all images, channel of the group).

    Windows see zeros outside of the image, as ONNX defines padding: a NaN or an infinite weight
    times such a zero is NaN.
    """
    dtype, out = DType(spec["dtype"]), DType(spec["out_dtype"])
    _, channels, *sizes = spec["input"]
    outputs, depth, *kernel = spec["weights"]
    out_sizes = output_sizes(spec)
    axes = range(len(sizes))
    before = spec["padding"]
    per_group = outputs // spec["groups"]
    tree = formulas_in(spec["epilogue"])["out"]
    extents = dict(shape.split("=") for shape in spec["epilogue_shapes"])
    own = dict(part.split("=") for part in spec["epilogue_dtypes"])
    types = {name: DType(own[name]) if name in own else _default(name, out) for name in extents}
    evaluator = Evaluator({}, Scalars())

    def in_images(image: int, channel: int, at: Sequence[int], count: int, of: list[int]) -> int:
        if spec["layout"] == "nchw":
            return _flat((image, channel, *at), (0, count, *of))
        return _flat((image, *at, channel), (0, *of, count))

    def in_weights(output: int, channel: int, place: Sequence[int]) -> int:
        return {
            "oihw": lambda: _flat((output, channel, *place), (0, depth, *kernel)),
            "ohwi": lambda: _flat((output, *place, channel), (0, *kernel, depth)),
            "hwio": lambda: _flat((*place, channel, output), (0, *kernel[1:], depth, outputs)),
        }[spec["weight_layout"]]()

    def element(index: tuple[int, ...]) -> float:
        group, number, output = index
        image, *position = unflat(number, [spec["input"][0], *out_sizes])
        output += group * per_group
        first = group * depth
        seen, weights = [], []
        for place in itertools.product(*map(range, kernel)):
            at = [
                position[i] * spec["stride"][i] + place[i] * spec["dilation"][i] - before[i]
                for i in axes
            ]
            inside = all(0 <= at[i] < sizes[i] for i in axes)
            for channel in range(depth):
                where = in_images(image, first + channel, at, channels, sizes)
                seen.append(read(buffers["a"], where, dtype) if inside else 0.0)
                weights.append(read(buffers["b"], in_weights(output, channel, place), dtype))
        x: float = dot(seen, weights, exact_products=dtype != DType.F64)
        inputs = {"x": x}
        whole = in_images(image, output, position, outputs, out_sizes)
        for name, extent in extents.items():
            offset = {"n": output, "1": 0, "mxn": whole}[extent]
            inputs[name] = read(buffers[name], offset, out if extent == "mxn" else types[name])
        evaluator.values = inputs
        return float(evaluator.value(tree))

    return element


def output_sizes(spec: Mapping[str, Any]) -> list[int]:
    """Spatial sizes of the output."""
    sizes, kernel = spec["input"][2:], spec["weights"][2:]
    rank, found = len(sizes), []
    for i in range(rank):
        padded = sizes[i] + spec["padding"][i] + spec["padding"][rank + i]
        reach = (kernel[i] - 1) * spec["dilation"][i] + 1
        found.append((padded - reach) // spec["stride"][i] + 1)
    return found


def coordinates(spec: Mapping[str, Any], place: Sequence[int]) -> tuple[int, int, int]:
    """Index of an output element, from its place in the stored output."""
    if spec["layout"] == "nchw":
        image, output, *position = place
    else:
        image, *position, output = place
    group, channel = divmod(output, spec["weights"][0] // spec["groups"])
    return group, _flat((image, *position), (0, *output_sizes(spec))), channel


def unflat(number: int, shape: Sequence[int]) -> list[int]:
    """Index of an element of a packed tensor, from its number."""
    found = []
    for size in reversed(shape):
        number, at = divmod(number, size)
        found.append(at)
    return found[::-1]


def _flat(index: Sequence[int], shape: Sequence[int]) -> int:
    """Number of an element in a packed tensor, whose outermost size is not used."""
    return sum(i * math.prod(shape[axis + 1 :]) for axis, i in enumerate(index))


def _default(name: str, out: DType) -> DType:
    """Eight bits are too few for a vector that is applied before rounding to them."""
    return DType.F32 if out.itemsize == 1 else out
