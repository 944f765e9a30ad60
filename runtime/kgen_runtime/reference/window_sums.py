"""Scalar reference of convolutions with epilogue: sums over kernel positions and channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.evaluators import Evaluator
from kgen_runtime.expressions.formulas import formulas_in
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.reference.numbers import Buffers, Element, read, values
from kgen_runtime.reference.sums import dot
from kgen_runtime.reference.winograd_weights import restored_weights


def conv2d(spec: Mapping[str, Any], buffers: Buffers) -> Element:
    """Return the function that computes an element of epilogue(conv(a, b)).

    Its index is (group, number of the output position over all images, channel of the group).
    Outside the image, windows read the padding value, by default zero as in ONNX: NaN or infinite
    weights times such a zero are NaN. Kernels may leave these products out.
    """
    dtype, out = DType(spec["dtype"]), DType(spec["out_dtype"])
    b_dtype = DType(spec.get("b_dtype") or dtype)
    _, channels, *sizes = spec["input"]
    outputs, depth, *kernel = spec["weights"]
    out_sizes = output_sizes(spec)
    axes = range(len(sizes))
    padding = spec.get("padding_value", 0)
    padding = read(buffers[padding], 0, dtype) if isinstance(padding, str) else float(padding)
    per_group = outputs // spec["groups"]
    tree = formulas_in(spec["epilogue"])["out"]
    extents = dict(shape.split("=") for shape in spec["epilogue_shapes"])
    own = dict(part.split("=") for part in spec["epilogue_dtypes"])
    types = {
        name: DType(own[name]) if name in own else _default(name, b_dtype, out) for name in extents
    }
    finish = Evaluator({}, Scalars()).compiled(tree, ["x", *extents])
    restored = restored_weights(spec, buffers)

    image_step, channel_step, row_steps = _steps(spec["layout"], sizes, channels=channels)
    output_step, depth_step, place_steps = _steps(
        spec["weight_layout"], kernel, outputs=outputs, channels=depth
    )
    whole_step, whole_channel, whole_rows = _steps(spec["layout"], out_sizes, channels=outputs)
    # For each kernel position: offset in the image along each axis, and offset of its first weight.
    places = [
        (
            [place[i] * spec["dilation"][i] - spec["padding"][i] for i in axes],
            _inner(place, place_steps),
        )
        for place in itertools.product(*map(range, kernel))
    ]

    def element(index: tuple[int, ...]) -> float:
        group, number, output = index
        image, *position = unflat(number, [spec["input"][0], *out_sizes])
        output += group * per_group
        first = image * image_step + group * depth * channel_step
        seen, weights = [], []
        for number, (moved, place) in enumerate(places):
            at = [position[i] * spec["stride"][i] + moved[i] for i in axes]
            if all(0 <= at[i] < sizes[i] for i in axes):
                start = first + _inner(at, row_steps)
                seen += values(buffers["a"], start, depth, channel_step, dtype)
            else:
                seen += [padding] * depth
            if restored:
                weights += restored(number, output)
                continue
            start = output * output_step + place
            weights += values(buffers["b"], start, depth, depth_step, b_dtype)
        x: float = dot(seen, weights, exact_products=dtype != DType.F64)
        inputs = [x]
        whole = image * whole_step + output * whole_channel + _inner(position, whole_rows)
        for name, extent in extents.items():
            offset = {"n": output, "1": 0, "mxn": whole}[extent]
            inputs.append(read(buffers[name], offset, out if extent == "mxn" else types[name]))
        return float(finish(inputs))

    return element


def output_sizes(spec: Mapping[str, Any]) -> list[int]:
    """Return the spatial sizes of the output."""
    sizes, kernel = spec["input"][2:], spec["weights"][2:]
    rank, found = len(sizes), []
    for i in range(rank):
        padded = sizes[i] + spec["padding"][i] + spec["padding"][rank + i]
        reach = (kernel[i] - 1) * spec["dilation"][i] + 1
        found.append((padded - reach) // spec["stride"][i] + 1)
    return found


def coordinates(spec: Mapping[str, Any], place: Sequence[int]) -> tuple[int, int, int]:
    """Return the index that :func:`conv2d` expects for a position in the stored output."""
    if spec["layout"] == "nchw":
        image, output, *position = place
    else:
        image, *position, output = place
    group, channel = divmod(output, spec["weights"][0] // spec["groups"])
    return group, _flat((image, *position), (0, *output_sizes(spec))), channel


def unflat(number: int, shape: Sequence[int]) -> list[int]:
    """Return the coordinates of an element of a contiguous tensor from its row-major number."""
    found = []
    for size in reversed(shape):
        number, at = divmod(number, size)
        found.append(at)
    return found[::-1]


def _steps(
    layout: str, sizes: Sequence[int], *, channels: int, outputs: int = 1
) -> tuple[int, int, list[int]]:
    """Return strides of a contiguous tensor: of `n` or `o`, of `c` or `i`, and of each spatial
    axis. `hw` in the layout stands for all spatial axes."""
    extents = {"n": [1], "o": [outputs], "c": [channels], "i": [channels], "h": sizes, "w": []}
    steps: dict[str, list[int]] = {}
    step = 1
    for letter in reversed(layout):
        steps[letter] = []
        for size in reversed(extents[letter]):
            steps[letter].insert(0, step)
            step *= size
    outer, inner = ("o", "i") if "o" in layout else ("n", "c")
    return steps[outer][0], steps[inner][0], steps["h"]


def _inner(x: Sequence[int], y: Sequence[int]) -> int:
    return sum(map(mul, x, y))


def _flat(index: Sequence[int], shape: Sequence[int]) -> int:
    """Return the row-major number of an element of a contiguous tensor; the outermost size is not
    used."""
    return sum(i * math.prod(shape[axis + 1 :]) for axis, i in enumerate(index))


def _default(name: str, b_dtype: DType, out: DType) -> DType:
    """Return the type of an epilogue vector. It is f32 if 8 bits would be too few: before rounding
    to 8 bits, or for scales of 8-bit weights."""
    return DType.F32 if out.itemsize == 1 or (b_dtype.itemsize == 1 and name != "bias") else out
