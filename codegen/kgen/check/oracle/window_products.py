"""Convolutions in float64: windows as rows of a matrix, times the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kgen.check.tensors import Values
from kgen_runtime.reference.window_sums import output_sizes

Spec = Mapping[str, Any]
T = TypeVar("T", bound=np.generic)


def output_shape(spec: Spec) -> tuple[int, int, int]:
    """Return the shape (groups, output positions of all images, channels of a group)."""
    groups = spec["groups"]
    positions = spec["input"][0] * math.prod(output_sizes(spec))
    return groups, positions, spec["weights"][0] // groups


def by_group(spec: Spec, stored: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return a stored output, or indices of its elements, in the shape of `output_shape`."""
    groups, positions, channels = output_shape(spec)
    last = stored if spec["layout"] == "nhwc" else np.moveaxis(stored, 1, -1)
    return last.reshape(positions, groups, channels).swapaxes(0, 1)


def windows(spec: Spec, values: Mapping[str, Values], rows: slice) -> Values:
    """Return the rows of A of each group: kernel positions and their channels, padded."""
    images = values["a"]
    sizes, kernel = spec["input"][2:], spec["weights"][2:]
    groups, depth = spec["groups"], spec["weights"][1]
    last = images if spec["layout"] == "nhwc" else np.moveaxis(images, 1, -1)
    numbers = np.arange(rows.start, rows.stop)
    image, *position = np.unravel_index(numbers, (spec["input"][0], *output_sizes(spec)))
    padding = spec.get("padding_value", 0)
    padding = float(values[padding][0] if isinstance(padding, str) else padding)
    found = np.full((groups, len(numbers), math.prod(kernel), depth), padding)
    for number, place in enumerate(np.ndindex(*kernel)):
        at = [
            position[i] * spec["stride"][i] + place[i] * spec["dilation"][i] - spec["padding"][i]
            for i in range(len(sizes))
        ]
        inside = np.logical_and.reduce(
            [(x >= 0) & (x < size) for x, size in zip(at, sizes, strict=True)]
        )
        seen = last[(image[inside], *(x[inside] for x in at))]
        found[:, inside, number] = seen.reshape(-1, groups, depth).swapaxes(0, 1)
    return found.reshape(groups, len(numbers), -1)


def oihw(spec: Spec, stored: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the weights as output channels x channels of a group x kernel sizes."""
    outputs, depth, *kernel = spec["weights"]
    shapes = {
        "oihw": ((outputs, depth, *kernel), (0, 1)),
        "ohwi": ((outputs, *kernel, depth), (0, -1)),
        "hwio": ((*kernel, depth, outputs), (-1, -2)),
    }
    shape, axes = shapes[spec["weight_layout"]]
    if stored.ndim == 3 and spec["weight_layout"] == "hwio" and spec["constant"]:
        stored = stored.swapaxes(0, 1)
    return np.moveaxis(stored.reshape(shape), axes, (0, 1))


def weights(spec: Spec, stored: npt.NDArray[T], cols: slice) -> npt.NDArray[T]:
    """Return the columns of B of each group, in the order of `windows`."""
    outputs = spec["weights"][0]
    first = oihw(spec, stored)
    matrix = np.moveaxis(first, 1, -1).reshape(spec["groups"], outputs // spec["groups"], -1)
    return matrix.swapaxes(1, 2)[:, :, cols]
