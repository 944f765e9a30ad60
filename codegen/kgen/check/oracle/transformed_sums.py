"""Winograd convolutions: magnitude of their terms, for the error bound.

A tile of outputs is A^T (sum over channels of U * (B^T d B)) A, with U the given transformed
weights. To first order, each rounding changes an output by at most u times

    |A^T| (sum of |U| * (|B^T| |d| |B|)) |A|

(B. Barabasz, A. Anderson, K. Soodhalter and D. Gregg, "Error Analysis and Improving the Accuracy of
Winograd Convolution for Deep Neural Networks", ACM TOMS 46(4), 2020, section 4, with absolute
values of the matrices instead of norms; N. Higham, Accuracy and Stability, section 3.5). The
magnitude is at most L^2 times the sum over channels of max|d| |w|_1. L is the largest entry of
|A^T| (g * b), with g the largest entries of |G|'s rows and b the row sums of |B^T|: L^2 is 16 for
tiles of 2 x 2, and 860 for tiles of 4 x 4.

U is rounded too: the kernel that the reference restores from it differs by at most u |R| |U| |R|^T,
with R the factors of the restoration. The windows multiply that difference. If images and U are
whole numbers, all partial sums up to the magnitude are, because the matrices are. A number that is
not finite reaches each output that the matrices connect it with, and makes the magnitude infinite.

The matrices are computed here from the interpolation points, and are not shared with the planner.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from kgen.check.tensors import Values
from kgen_runtime.reference.window_sums import output_sizes
from kgen_runtime.reference.winograd_weights import SHARES, winograd_tile

Spec = Mapping[str, Any]
#: Interpolation points besides infinity, by the outputs of a tile along an axis.
POINTS = {2: (0, 1, -1), 4: (0, 1, -1, 2, -2)}


def matrices(tile: int) -> tuple[Values, Values]:
    """Return |A^T| and |B^T|.

    A^T holds powers of the points. A row of B^T holds the coefficients of the product of (x - p)
    over the other points p; the last row, for infinity, covers all points.
    """
    points = POINTS[tile]
    outputs = [[abs(Fraction(p)) ** i for p in points] + [i == tile - 1] for i in range(tile)]
    inputs = []
    for left_out in (*points, None):
        row = [Fraction(1)]
        for p in (p for p in points if p != left_out):
            row = [x - p * y for x, y in zip([Fraction(0), *row], [*row, Fraction(0)], strict=True)]
        inputs.append([abs(x) for x in row] + [Fraction(0)] * (len(points) + 1 - len(row)))
    return np.array(outputs, np.float64), np.array(inputs, np.float64)


def kernels(spec: Spec, stored: Values, *, absolute: bool = False) -> Values:
    """Return kernels restored from transformed weights: R U R^T.

    The result has a row per position and channel, and a column per output. With `absolute`, it is
    |R| |U| |R|^T.
    """
    size = winograd_tile(spec) + 2
    shares = np.zeros((3, size))
    for row, factors in zip(shares, SHARES[size - 2], strict=True):
        row[list(factors)] = list(factors.values())
    if absolute:
        shares, stored = np.abs(shares), np.abs(stored)
    positions = stored.reshape(size, size, -1, spec["weights"][0])
    found = np.einsum("ki,lj,ijco->klco", shares, shares, positions, optimize=True)
    return np.asarray(found.reshape(-1, spec["weights"][0]))


def magnitude(
    spec: Spec, images: Values, stored: Values, windows: Values, rows: slice, cols: slice
) -> Values:
    """Return the magnitude of a box of outputs.

    `windows` are the windows of the positions `rows` of all images, `cols` the output channels.
    """
    tile = winograd_tile(spec)
    size, (_, height, width, channels) = tile + 2, images.shape
    outputs, inputs = matrices(tile)
    numbers = np.arange(rows.start, rows.stop)
    image, *place = np.unravel_index(numbers, (len(images), *output_sizes(spec)))
    tiles, which = np.unique(
        np.stack([image, place[0] // tile, place[1] // tile]), axis=1, return_inverse=True
    )
    patches = np.zeros((tiles.shape[1], size, size, channels))
    for i, j in np.ndindex(size, size):
        y = tiles[1] * tile + i - spec["padding"][0]
        x = tiles[2] * tile + j - spec["padding"][1]
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        patches[inside, i, j] = np.abs(images[tiles[0][inside], y[inside], x[inside]])
    open_at = ~np.isfinite(patches)
    patches[open_at] = 0.0
    connects = (outputs @ inputs > 0).astype(np.float64)
    reached = np.einsum("ki,lj,tij->klt", connects, connects, open_at.any(axis=3).astype(float))
    seen = np.einsum("ki,lj,tijc->klct", inputs, inputs, patches, optimize=True)
    weights = np.abs(stored).reshape(size, size, channels, -1)[..., cols]
    sums = seen.swapaxes(2, 3) @ weights
    found = np.zeros((len(numbers), weights.shape[-1]))
    which = which.reshape(-1)
    for i, j in np.ndindex(tile, tile):
        own = (place[0] % tile == i) & (place[1] % tile == j)
        factors = np.outer(outputs[i], outputs[j])
        found[own] = np.einsum("kl,klto->to", factors, sums[:, :, which[own]], optimize=True)
        found[own] += np.where(reached[i, j, which[own], np.newaxis] > 0, np.inf, 0.0)
    return found + np.abs(windows) @ kernels(spec, stored, absolute=True)[:, cols]
