"""Inputs of Winograd convolutions: exact whole numbers, and NaN that stays in its tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen.check.oracle import operations as oracle
from kgen.check.oracle.tolerance import Estimate
from kgen.check.verify import inputs
from kgen.check.verify.transformed_values import whole_vectors
from kgen.spec import Conv2d, ConvMath
from kgen.spec.winograd import TRANSFORMS
from kgen_runtime.manifest import KernelEntry
from tests.unit.check.verify.oracle_agreement import agree

EntryFor = Callable[..., KernelEntry]
MATHS = tuple(TRANSFORMS)


def conv(channels: int, size: int, math: ConvMath, **fields: Any) -> Conv2d:
    given: dict[str, Any] = {"dtype": "f32", "padding": 1, "constant": ("b",), "math": math}
    shapes = {"input": (1, channels, size, size), "weights": (9, channels, 3, 3)}
    return Conv2d(**(shapes | given | fields))


def data_of(entry: KernelEntry, name: str) -> tuple[dict[str, Any], Estimate]:
    """Return the arrays of a data set, and the estimate of all results."""
    (data,) = [each for each in inputs.data_sets(entry, seed=1) if each.name == name]
    box = tuple(slice(0, n) for n in oracle.output_shape(entry))
    arrays = {
        p.name: np.frombuffer(data.buffers[p.name], np.float32).reshape(p.shape)
        for p in entry.inputs
    }
    return arrays, oracle.estimate(entry, data.buffers, box, data.whole)


def by_transforms(entry: KernelEntry, arrays: dict[str, Any]) -> Any:
    """Return the results of f32 arithmetic that rounds each product and each sum."""
    t = TRANSFORMS[ConvMath(entry.spec["math"])]
    b, a = (np.array(m, np.float64).astype(np.float32) for m in (t.inputs, t.outputs))
    image = np.pad(arrays["a"][0], ((1, t.size), (1, t.size), (0, 0)))
    u = arrays["b"].reshape(t.size, t.size, image.shape[-1], -1)
    out = np.zeros(entry.output.shape, np.float32)
    height, width = out.shape[1:3]
    for y in range(0, height, t.tile):
        for x in range(0, width, t.tile):
            patch = image[y : y + t.size, x : x + t.size]
            v = np.einsum("ki,lj,ijc->klc", b, b, patch)
            m = np.einsum("klc,klco->klo", v, u)
            tile = np.einsum("ik,jl,klo->ijo", a, a, m)
            out[0, y : y + t.tile, x : x + t.tile] = tile[: height - y, : width - x]
    return out


@pytest.mark.parametrize("math", MATHS)
@pytest.mark.parametrize("channels", [1, 64, 512, 1024])
def test_whole_numbers_are_exact(math: ConvMath, channels: int, entry_for: EntryFor) -> None:
    """Nearly all sums fit f32, so f32 arithmetic gives the exact convolution."""
    entry = entry_for(conv(channels, 6, math))
    arrays, found = data_of(entry, "whole-number")
    exact = found.error == 0
    assert exact.mean() > 0.99
    got = by_transforms(entry, arrays).reshape(exact.shape)
    np.testing.assert_array_equal(got[exact], found.value[exact])
    assert (found.value != 0).mean() > 0.5
    assert np.unique(arrays["b"]).size > 5 and np.abs(arrays["a"]).max() >= 1


@pytest.mark.parametrize("math", MATHS)
def test_whole_vectors_have_every_place(math: ConvMath) -> None:
    found = whole_vectors(TRANSFORMS[math])
    assert np.linalg.matrix_rank(found.vectors) == 3
    g = np.array([[float(x) for x in row] for row in TRANSFORMS[math].weights])
    np.testing.assert_allclose(found.vectors @ g.T, np.rint(found.vectors @ g.T), atol=1e-12)


@pytest.mark.parametrize("math", MATHS)
def test_nan_stays_in_its_tiles(math: ConvMath, entry_for: EntryFor) -> None:
    """NaN of an image must appear if a window sees it, and may appear in its tile; a kernel with
    NaN makes NaN of its channel."""
    entry = entry_for(conv(3, 21, math))
    arrays, found = data_of(entry, "special-value")
    assert not np.isinf(arrays["a"]).any() and np.isnan(arrays["a"]).any()
    value, error = (x.reshape(entry.output.shape)[0] for x in (found.value, found.error))
    tile = TRANSFORMS[math].tile
    assert np.isnan(value[:, :, 1]).all() and np.isnan(arrays["b"]).any()
    image = np.pad(np.isnan(arrays["a"][0]).any(axis=-1), ((1, tile + 2), (1, tile + 2)))
    for y, x in np.ndindex(value.shape[:2]):
        top, left = y // tile * tile, x // tile * tile
        seen = image[y : y + 3, x : x + 3].any()
        in_tile = image[top : top + tile + 2, left : left + tile + 2].any()
        assert np.isnan(value[y, x, 0]) == seen
        assert not np.isinf(error[y, x, 0]) or in_tile
    assert np.isinf(error[:, :, 0]).any() == (tile > 2)
    assert np.isfinite(value + error)[:, :, 0].mean() > 0.25


@pytest.mark.parametrize("math", MATHS)
def test_oracle_is_the_reference(math: ConvMath, entry_for: EntryFor) -> None:
    agree(entry_for(conv(2, 7, math, epilogue=("bias", "relu"), input=(2, 2, 7, 5))), rel=1e-6)
