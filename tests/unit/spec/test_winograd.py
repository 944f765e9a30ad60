"""Winograd's transforms: exact identities, and what the spec accepts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from kgen.check.oracle import transformed_sums as oracle
from kgen.errors import SpecError
from kgen.spec import Conv2d, ConvMath, from_json
from kgen.spec.text import form, parse
from kgen.spec.winograd import TRANSFORMS, Rows, transformed
from kgen.targets.contraction.winograd_tiles import LinearStep, linear_map
from kgen_runtime.reference.winograd_weights import SHARES

MATHS = tuple(TRANSFORMS)


def conv(**fields: Any) -> Conv2d:
    given: dict[str, Any] = {"dtype": "f32", "padding": 1, "constant": ("b",), "math": "winograd4"}
    given |= fields
    return Conv2d(**({"input": (1, 8, 5, 6), "weights": (4, 8, 3, 3)} | given))


def applied(rows: Rows, vector: Sequence[Fraction]) -> list[Fraction]:
    return [sum((x * y for x, y in zip(row, vector, strict=True)), Fraction(0)) for row in rows]


@pytest.mark.parametrize("math", MATHS)
def test_transforms_compute_the_convolution(math: ConvMath) -> None:
    """A^T [(G g) * (B^T d)] is the convolution of a row, for all unit vectors d and g."""
    t = TRANSFORMS[math]
    for at, place in itertools.product(range(t.size), range(3)):
        d = [Fraction(int(i == at)) for i in range(t.size)]
        g = [Fraction(int(i == place)) for i in range(3)]
        products = [x * y for x, y in zip(applied(t.inputs, d), applied(t.weights, g), strict=True)]
        expected = [int(i + place == at) for i in range(t.tile)]
        assert applied(t.outputs, products) == expected


@pytest.mark.parametrize("math", MATHS)
def test_kernels_are_restored(math: ConvMath) -> None:
    t = TRANSFORMS[math]
    for place in range(3):
        g = applied(t.weights, [Fraction(int(i == place)) for i in range(3)])
        found = [
            sum(Fraction(factor) * g[row] for row, factor in share.items())
            for share in SHARES[t.tile]
        ]
        assert found == [int(i == place) for i in range(3)]


@pytest.mark.parametrize("math", MATHS)
def test_the_oracle_has_the_same_magnitudes(math: ConvMath) -> None:
    t = TRANSFORMS[math]
    outputs, inputs = oracle.matrices(t.tile)
    for found, rows in ((outputs, t.outputs), (inputs, t.inputs)):
        np.testing.assert_array_equal(found, [[abs(float(x)) for x in row] for row in rows])


@pytest.mark.parametrize(("math", "squared"), [("winograd2", 16), ("winograd4", 861)])
def test_the_magnitude_is_bounded_by_norms(math: str, squared: float) -> None:
    t = TRANSFORMS[ConvMath(math)]
    products = [
        max(map(abs, g)) * sum(map(abs, b)) for g, b in zip(t.weights, t.inputs, strict=True)
    ]
    norm = max(sum(abs(a) * x for a, x in zip(row, products, strict=True)) for row in t.outputs)
    assert squared - 1 < norm**2 <= squared
    random = np.random.default_rng(0)
    images, w = random.standard_normal((1, 7, 6, 5)), random.standard_normal((3, 3, 5, 4))
    spec = {"math": math, "input": (1, 5, 7, 6), "weights": (4, 5, 3, 3), "stride": (1, 1)}
    spec |= {"padding": (0, 0, 0, 0), "dilation": (1, 1)}
    stored = transformed(w, t).astype(np.float64)
    windows = np.zeros((20, 45))
    found = oracle.magnitude(spec, images, stored, windows, slice(0, 20), slice(0, 4))
    limit = float(norm**2) * np.abs(images).max() * np.abs(w).sum(axis=(0, 1, 2))
    assert (found <= limit).all()
    assert (found > 0).all()


@pytest.mark.parametrize("math", MATHS)
def test_linear_maps_multiply_by_their_matrix(math: ConvMath) -> None:
    t = TRANSFORMS[math]
    for rows in (t.inputs, t.outputs):
        names = [f"x{i}" for i in range(t.size)]
        found = linear_map(rows, names, "y")
        for at in range(t.size):
            values = {name: Fraction(int(i == at)) for i, name in enumerate(names)}
            for step in found.steps:
                values[step.result] = computed(step, values)
            assert [values[name] for name in found.results] == [row[at] for row in rows]
        assert len(found.steps) <= 14 and found.roundings <= 4


def computed(step: LinearStep, values: dict[str, Fraction]) -> Fraction:
    return step.factor * values[step.x] + (values[step.added] if step.added else 0)


def test_names() -> None:
    spec = conv(math="winograd")
    assert spec.math is ConvMath.WINOGRAD4
    assert "winograd4" in spec.key and "math winograd4" in spec.formula
    assert from_json(spec.to_json()) == spec and parse(form(spec)) == spec
    exact = conv(math="exact")
    assert "winograd" not in exact.key and exact.transforms is None
    assert spec.parameter("b").shape == (36 * 8, 4)
    assert spec.flops == exact.flops


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dtype": "f16"}, "math=winograd4, which needs f32; take dtype=f32 or math=exact$"),
        ({"weights": (4, 8, 1, 1), "padding": 0}, "weights=4x8x1x1 .* needs 3x3 kernels"),
        ({"input": (1, 8, 9), "weights": (4, 8, 3)}, "weights=4x8x3 .* needs 3x3 kernels"),
        (
            {"stride": 2},
            "stride=2x2 is not supported with math=winograd4, which needs 1; take math",
        ),
        ({"dilation": 2}, "dilation=2x2 .* needs 1"),
        ({"groups": 2, "weights": (4, 4, 3, 3)}, "groups=2 .* needs 1; take math=exact"),
        ({"layout": "nchw", "weight_layout": "ohwi"}, "layout=nchw .* needs nhwc"),
        ({"b_dtype": "bf16"}, "b_dtype=bf16 .* needs weights of f32"),
        (
            {"constant": ()},
            "winograd4 requires constant weights; pass constant=b=FILE.npy .* or math",
        ),
        ({"math": "winograd3"}, "math=winograd3 is unknown"),
    ],
)
def test_refusals(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        conv(**fields)
