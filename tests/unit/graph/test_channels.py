"""Values with one number per channel: slopes of old PRelu, and normalizations with large cancelling
terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx

import kgen
import kgen_runtime
from kgen.errors import GraphError
from kgen.graph.operators import OPERATORS
from kgen.graph.reading.importer import imported
from kgen.graph.rewrites.normalizations import folded
from tests.onnx_models import Maker, lowered, reference

TARGET = "x86-64-v3"
RNG = np.random.default_rng(5)


def result(model: onnx.ModelProto, folder: Path, **inputs: Any) -> Any:
    """The output of a model, compiled and run."""
    onnx.save(model, folder / "m.onnx")
    kgen.compile_model(folder / "m.onnx", [TARGET], cache=False).bundle.save(folder / "m.kgen")
    return kgen_runtime.load(folder / "m.kgen").program.run(inputs)


def slopes(x: Any, slope: Any) -> Any:
    """PRelu of opset 6 as its text defines it, channel by channel."""
    out = x.copy()
    for channel in range(x.shape[1] if x.ndim > 1 else 1):
        part = out[:, channel] if x.ndim > 1 else out
        part[part < 0] *= slope.reshape(-1)[channel % slope.size]
    return out


@pytest.mark.integration
@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize(
    ("shape", "slope"),
    [
        ((2, 3, 4, 3), (3,)),  # as many columns as channels
        ((2, 3, 4, 5), (3,)),
        ((2, 3, 4), (3,)),
        ((4, 3), (3,)),
        ((2, 3, 4, 3), (1,)),
        ((2, 3, 4, 3), ()),
        ((5,), (1,)),
    ],
)
def test_slopes_of_opset_6_are_of_channels(
    shape: Sequence[int], slope: Sequence[int], is_constant: bool, tmp_path: Path
) -> None:
    x, numbers = (RNG.standard_normal(s).astype(np.float32) for s in (shape, slope))
    m = Maker(opset=6)
    given = m.constant(numbers) if is_constant else m.input("slope", slope)
    model = m.model(m.add("PRelu", m.input("x", shape), given))
    inputs = {"x": x} if is_constant else {"x": x, "slope": numbers}
    expected = slopes(x, numbers)
    np.testing.assert_allclose(result(model, tmp_path, **inputs), expected, rtol=1e-6)
    # The values that kgen verify compares with are ONNX's, too.
    np.testing.assert_allclose(reference(model, **inputs), expected, rtol=1e-6)


def test_slopes_of_constants_are_folded_by_channels() -> None:
    x, slope = RNG.standard_normal((2, 3, 4, 3)), np.array([1, 2, 3], np.float32)
    m = Maker(opset=6)
    made = m.add("PRelu", m.constant(x), m.constant(slope))
    model = imported(m.model(m.add("Add", m.input("x", (2, 3, 4, 3)), made)), {}, OPERATORS)
    expected = slopes(x.astype(np.float32), slope)
    np.testing.assert_allclose(model.constants[made], expected, rtol=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("opset", [7, 9, 16])
def test_later_slopes_broadcast_along_the_last_axis(opset: int, tmp_path: Path) -> None:
    x, slope = (RNG.standard_normal(s).astype(np.float32) for s in ((2, 3, 4, 3), (3,)))
    m = Maker(opset)
    model = m.model(m.add("PRelu", m.input("x", x.shape), m.constant(slope)))
    found = result(model, tmp_path, x=x)
    np.testing.assert_allclose(found, np.where(x < 0, x * slope, x), rtol=1e-6)


@pytest.mark.parametrize("slope", [(4,), (3, 1)])
def test_a_slope_of_other_channels_is_refused(slope: Sequence[int]) -> None:
    m = Maker(opset=6)
    m.add("PRelu", m.input("x", (2, 3, 4, 4)), m.input("slope", slope))
    with pytest.raises(GraphError, match=r"PRelu.* has a slope of shape .*; ONNX requires 3 here"):
        lowered(m, m.nodes[-1].output[0])


def normalized(x: Any, numbers: dict[str, Any], epsilon: float) -> Any:
    """BatchNormalization as its text defines it, in f64."""
    wide = [np.float64(v).reshape(-1, *(1,) * (x.ndim - 2)) for v in numbers.values()]
    scale, shift, mean, variance = wide
    return (np.float64(x) - mean) / np.sqrt(variance + epsilon) * scale + shift


def statistics(mean: float, variance: float) -> dict[str, Any]:
    """Scale, shift, mean and variance of three channels."""
    spread = np.array([1, 1.25, 0.75])
    given = {"scale": spread, "shift": spread - 1, "mean": mean * spread, "var": variance * spread}
    return {name: array.astype(np.float32) for name, array in given.items()}


@pytest.mark.integration
@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize(("mean", "variance"), [(1000, 1e-6), (-3e4, 1e-3), (0.5, 2.0)])
def test_a_norm_keeps_its_digits(
    mean: float, variance: float, is_constant: bool, tmp_path: Path
) -> None:
    """The input is near a mean that is many standard deviations from zero."""
    numbers, epsilon = statistics(mean, variance), np.float32(1e-5)
    m = Maker()
    x = m.input("x", (2, 3, 8))
    given = [
        m.constant(array) if is_constant else m.input(name, (3,)) for name, array in numbers.items()
    ]
    model = m.model(m.add("BatchNormalization", x, *given))
    near = numbers["mean"][:, None] + RNG.standard_normal((2, 3, 8)) * variance**0.5
    inputs = {"x": near.astype(np.float32)} | ({} if is_constant else numbers)
    expected = normalized(inputs["x"], numbers, float(epsilon))
    np.testing.assert_allclose(result(model, tmp_path, **inputs), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_norms_of_other_types_keep_the_means_own_digits(dtype: Any, tmp_path: Path) -> None:
    """Statistics may have another type than the input (opset 15 and later)."""
    numbers = statistics(100, 1e-2)
    x = (numbers["mean"][:, None] + RNG.standard_normal((2, 3, 8)) * 0.2).astype(dtype)
    m = Maker()
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    given = [
        m.constant(v, np.float32 if n in ("mean", "var") else dtype) for n, v in numbers.items()
    ]
    made = m.add("BatchNormalization", m.input("x", x.shape, kind), *given)
    found = result(m.model(made, dtype=kind), tmp_path, x=x)
    tolerance = 2e-3 if dtype is np.float16 else 1e-6
    expected = normalized(x, numbers, 1e-5)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.integration
@pytest.mark.parametrize(("mean", "is_folded"), [(1000.0, False), (0.2, True)])
def test_a_norm_behind_a_convolution(mean: float, is_folded: bool, tmp_path: Path) -> None:
    """The norm is folded into the weights only if the bias keeps the digits of the result."""
    numbers = statistics(mean, 1e-6)
    m = Maker()
    y = m.add("Conv", m.input("x", (1, 3, 4, 4)), m.constant(np.eye(3)[:, :, None, None]))
    given = [m.constant(array) for array in numbers.values()]
    model = m.model(m.add("BatchNormalization", y, *given))
    nodes = folded(imported(model, {}, OPERATORS)).nodes
    assert [node.operator for node in nodes] == ["Conv", "BatchNormalization"][: 2 - is_folded]
    near = numbers["mean"][:, None, None] + RNG.standard_normal((1, 3, 4, 4)) * 1e-3
    x = near.astype(np.float32)
    expected = normalized(x, numbers, 1e-5)
    # The product is exact: each row of the weights is one 1.
    tolerance = 256 * 2.0**-23 if is_folded else 2e-6
    np.testing.assert_allclose(result(model, tmp_path, x=x), expected, rtol=1e-5, atol=tolerance)
