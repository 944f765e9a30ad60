"""Layers that differ only in scales and zero points share a kernel."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx

from kgen.check.model.truth import evaluator
from kgen.graph.lowering.calls import Lowered
from kgen.graph.lowering.shared_kernels import Numbered, with_shared_kernels
from kgen.graph.reading.onnx_file import read
from kgen.ops import Primitive, steps
from kgen.ops.parse import parse
from kgen.spec import Conv2d, Matmul
from tests.onnx_models import run
from tests.quantized_models import Quantizer
from tests.unit.graph.test_quantized import calls, products

#: Scales and zero points of the layers' activations.
LAYERS = ((0.05, 120), (0.04, 118), (0.05, 125))


def layers(*quantized: tuple[float, int]) -> tuple[Quantizer, onnx.ModelProto]:
    """Return layers of one shape; the last one writes floats."""
    m = Quantizer()

    def product(x: str, outputs: int) -> str:
        return str(m.add("MatMul", x, m.weights(16, outputs, axis=1)))

    x = m.qdq(m.input("x", (5, 16)), 0.03, 125)
    for scale, zero in quantized:
        x = m.qdq(m.add("Sigmoid", m.qdq(product(x, 16), scale, zero)), 0.03, zero)
    return m, m.finished(product(x, 3))


def specs(found: Lowered) -> list[Matmul]:
    return [spec for spec in products(found) if spec.out.itemsize == 1]


def test_layers_that_differ_in_numbers_share_a_kernel() -> None:
    m, model = layers(*LAYERS)
    before = calls(model)
    after = with_shared_kernels(before, 16)
    assert len(set(specs(before))) == len(LAYERS) and len(set(specs(after))) == 1
    given = {"x": m.rng.standard_normal((5, 16)).astype(np.float32)}
    (expected,) = evaluator(read(model)).run(None, given)
    for found in (before, after):
        (made,) = run(found, given).values()
        np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=1e-6)


def test_convolutions_share_a_kernel_that_is_given_its_padding() -> None:
    m = Quantizer()
    y = m.qdq(m.input("x", (1, 6, 5, 4)), 0.03, 125)
    for zero in (120, 110, 125):
        y = m.add("Conv", y, m.weights(6, 6, 3, 3), m.bias(6, 2e-4), pads=[1, 1, 1, 1])
        y = m.qdq(y, 0.05, zero)
    model = m.finished(m.add("Conv", y, m.weights(2, 6, 1, 1)))
    after = with_shared_kernels(calls(model, on_cpus=True), 16)
    (spec,) = {call.spec for call in after.calls if isinstance(call.spec, Conv2d)}
    assert spec.pads_with_operand
    given = {"x": m.rng.standard_normal((1, 6, 5, 4)).astype(np.float32)}
    (expected,) = evaluator(read(model)).run(None, given)
    (made,) = run(after, given).values()
    np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)


def test_numbers_that_are_equal_stay_in_the_kernel() -> None:
    """Zero points differ between layers; the scales after the sigmoid do not."""
    _, model = layers((0.05, 120), (0.05, 118))
    spec, _ = specs(with_shared_kernels(calls(model), 16))
    assert "33.333" in spec.epilogue and "shared" in spec.epilogue
    assert "1" in {word.partition("=")[2] for word in spec.epilogue_shapes or ()}


def test_limits_of_bytes_stay_numbers() -> None:
    """Zero points move the limits of each layer; kernels get the zero points alone."""
    (spec,) = set(specs(with_shared_kernels(calls(layers(*LAYERS)[1]), 16)))
    limits = [step for step in steps(parse(spec.epilogue)) if step.name in ("min", "max")]
    assert [step.arguments[1].number for step in limits] == [-128, 127]
    assert all(step.arguments[1].primitive is Primitive.CONSTANT for step in limits)


def test_kernels_with_too_many_operands_stay_apart() -> None:
    before = calls(layers(*LAYERS)[1])
    assert with_shared_kernels(before, 5).calls == before.calls


def test_equal_layers_take_no_numbers() -> None:
    before = calls(layers((0.05, 120), (0.05, 120))[1])
    assert with_shared_kernels(before, 16).calls == before.calls


def test_numbers_of_arithmetic_alone_are_named() -> None:
    found = Numbered.of(parse("max(mul(hard_sigmoid(x, 0.2, 0.5), 3), -128)"))
    assert found.numbers == (3.0, -128.0)
    assert found.formula is parse("max(mul(hard_sigmoid(x, 0.2, 0.5), shared0), shared1)")
