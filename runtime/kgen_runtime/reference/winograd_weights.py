"""Weights of Winograd convolutions: the 3x3 kernels, recovered from their transforms.

A transformed kernel has more numbers than the kernel, so that a few of them determine it. The
transform evaluates each row as a polynomial f, up to constant factors; the row's weights are the
coefficients f(0), (f(1) - f(-1)) / 2 and f(infinity).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kgen_runtime.dtypes import DType
from kgen_runtime.reference.numbers import Buffers, values

#: Outputs of a tile along each axis.
TILES = {"winograd2": 2, "winograd4": 4}
#: For each row of the kernel, by tile: rows of the transformed kernel and their factors, whose sum
#: is the row.
SHARES: Mapping[int, tuple[dict[int, float], ...]] = {
    2: ({0: 1.0}, {1: 1.0, 2: -1.0}, {3: 1.0}),
    4: ({0: 4.0}, {2: 3.0, 1: -3.0}, {5: 1.0}),
}


def winograd_tile(spec: Mapping[str, Any]) -> int:
    """Return the outputs of a tile along each axis; 0 for convolutions without Winograd
    transform."""
    return TILES.get(spec.get("math", "exact"), 0)


def restored_weights(
    spec: Mapping[str, Any], buffers: Buffers
) -> Callable[[int, int], list[float]] | None:
    """Return a function from kernel position and output channel to the weights of all input
    channels; None if `b` holds the kernel itself."""
    tile = winograd_tile(spec)
    if not tile:
        return None
    outputs, depth = spec["weights"][:2]
    size = tile + 2

    def weights(place: int, output: int) -> list[float]:
        found = [0.0] * depth
        for i, down in SHARES[tile][place // 3].items():
            for j, across in SHARES[tile][place % 3].items():
                start = (i * size + j) * depth * outputs + output
                column = values(buffers["b"], start, depth, outputs, DType(spec["dtype"]))
                found = [x + down * across * y for x, y in zip(found, column, strict=True)]
        return found

    return weights
