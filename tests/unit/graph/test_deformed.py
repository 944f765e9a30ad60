"""DeformConv against a loop over its windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kgen.errors import GraphError
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from tests.onnx_models import Array, Maker, run


def element(image: Array, y: float, x: float) -> float:
    """Interpolate between the four elements around a place, with zeros around the image."""
    top, left, total = math.floor(y), math.floor(x), 0.0
    for i, j in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= i < image.shape[0] and 0 <= j < image.shape[1]:
            total += (1 - abs(y - i)) * (1 - abs(x - j)) * float(image[i, j])
    return total


def expected(
    x: Array, w: Array, offset: Array, bias: Array | None, mask: Array | None, group: int,
    parts: int, strides: Any, dilations: Any, pads: Any,
) -> Array:  # fmt: skip
    counts, (rows, columns) = offset.shape[2:], w.shape[2:]
    moved = offset.reshape(len(x), parts, rows, columns, 2, *counts)
    factor = np.ones(moved[:, :, :, :, 0].shape) if mask is None else mask.reshape(
        len(x), parts, rows, columns, *counts
    )  # fmt: skip
    found = np.zeros((len(x), len(w), *counts))
    for n, o, i, j in np.ndindex(*found.shape):
        for c, k, m in np.ndindex(*w.shape[1:]):
            channel = o // (len(w) // group) * w.shape[1] + c
            at = n, channel // (x.shape[1] // parts), k, m
            y, z = moved[(*at, slice(None), i, j)]
            place = (
                i * strides[0] - pads[0] + k * dilations[0] + y,
                j * strides[1] - pads[1] + m * dilations[1] + z,
            )
            found[n, o, i, j] += (
                w[o, c, k, m] * factor[(*at, i, j)] * element(x[n, channel], *place)
            )
    return found if bias is None else found + bias.reshape(-1, 1, 1)


@pytest.mark.parametrize(
    ("group", "parts", "more"), [(1, 1, False), (2, 1, True), (1, 2, True), (2, 4, False)]
)
def test_deform_conv(group: int, parts: int, more: bool) -> None:
    """Windows of 2x3 with steps, gaps and pads; offsets lead out of the image."""
    m = Maker(opset=19)
    given: dict[str, Any] = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 2, 0, 1]}
    x, w, counts = (2, 4, 5, 4), (2, 4 // group, 2, 3), (3, 3)
    arrays = {
        "x": m.rng.standard_normal(x), "w": m.rng.standard_normal(w),
        "offset": 2 * m.rng.standard_normal((2, parts * 12, *counts)),
        "bias": m.rng.standard_normal(2) if more else None,
        "mask": m.rng.standard_normal((2, parts * 6, *counts)) if more else None,
    }  # fmt: skip
    narrow = {n: None if a is None else a.astype(np.float32) for n, a in arrays.items()}
    names = [m.input(n, a.shape) if a is not None else "" for n, a in narrow.items()]
    y = m.add("DeformConv", *names, group=group, offset_group=parts, **given)
    _, graph = graph_by_bodies(m.model(m.add("Neg", y)), {})
    inputs = {n: a for n, a in narrow.items() if a is not None}
    (found,) = run(lower(fuse(graph)), inputs).values()
    arguments: list[Any] = [*narrow.values(), group, parts]
    right = expected(*arguments, **given)
    np.testing.assert_allclose(found, -right.reshape(-1), rtol=1e-4, atol=1e-5)


def test_offsets_far_outside_read_zeros() -> None:
    m = Maker(opset=19)
    x, offset = m.input("x", (1, 1, 2, 2)), m.input("offset", (1, 2, 2, 2))
    y = m.add("DeformConv", x, m.constant(np.ones((1, 1, 1, 1))), offset)
    _, graph = graph_by_bodies(m.model(y), {})
    far = np.array([[[[1e30, -1e30], [-1.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]]], np.float32)
    inputs = {"x": np.ones((1, 1, 2, 2), np.float32), "offset": far}
    (found,) = run(lower(fuse(graph)), inputs).values()
    np.testing.assert_array_equal(found, [0, 0, 1, 0])


def test_groups_that_do_not_fit_are_refused() -> None:
    m = Maker(opset=19)
    x, offset = m.input("x", (1, 3, 2, 2)), m.input("offset", (1, 4, 2, 2))
    y = m.add("DeformConv", x, m.weight(1, 3, 1, 1), offset, offset_group=2)
    with pytest.raises(GraphError, match=r"\(DeformConv\) has group=1 and offset_group=2 for 3 ch"):
        graph_by_bodies(m.model(y), {})
