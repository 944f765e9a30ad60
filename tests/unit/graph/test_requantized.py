"""Element-wise formulas from bytes to bytes in which each term has one factor."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
from kgen.check.model.truth import evaluator
from kgen.graph.fusing.limits import MOST_CHARACTERS, is_too_long, shared_size, size_of
from kgen.graph.reading.onnx_file import read
from kgen.graph.rewrites.requantized import requantized
from kgen.ops.expression import call, variable
from kgen.ops.parse import parse
from tests.onnx_models import run
from tests.quantized_models import Quantizer
from tests.unit.graph.test_quantized import calls


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("round((cast(a) - 3) * 0.5 / 0.25)", "round((cast(a) - 3) * 2)"),
        (
            "round((cast(a) - 3) * 0.5 * ((cast(b) - 5) * 0.25) / 0.5)",
            "round((cast(a) - 3) * (cast(b) - 5) * 0.25)",
        ),
        (
            "round(relu(cast(a) * 0.5 + (cast(b) - 5) * 0.25) / 0.125)",
            "round(relu(cast(a) * 4 + (cast(b) - 5) * 2))",
        ),
        ("round(mean(cast(a) * 0.5) / 0.25)", "round(mean(cast(a)) * 2)"),
        ("round(sigmoid(a) / 0.25)", "round(sigmoid(a) * 4)"),
        (
            "round(concat(permute((cast(a) - 3) * 0.5, 1, 0), cast(b) * 0.25, 1) / 0.125)",
            "round(concat(permute((cast(a) - 3) * 4, 1, 0), cast(b) * 2, 1))",
        ),
        (
            "cast(min(max(round(a) + 3, -128), 127)) - 3",
            "cast(min(max(round(a), -131), 124))",
        ),
        (
            "min(max(round(min(max(a, 0), 254.9)) + -128, -128), 127)",
            "round(min(max(a, 0), 254.9)) + -128",
        ),
        (
            "round(hard_sigmoid(cast(a) * 0.5, 0.25, 0.5) / 0.25)",
            "round(min(max(cast(a) * 0.5 + 2, 0), 4))",
        ),
        # Operands themselves, in all terms or in one.
        ("round(a / 0.3)", None),
        ("round((a + b) / 0.3)", None),
        ("round(concat(cast(a) * 0.5, b, 1) / 0.3)", None),
        ("round((cast(a) * 0.5 + b) / 0.3)", None),
        # Another zero point than the one that was added, one limit that is reached, and a scale of
        # which f32 has no reciprocal.
        ("min(max(round(a) + 3, -128), 127) - 4", None),
        (
            "min(max(round(min(max(a, 0), 255.6)) + -128, -128), 127)",
            "min(round(min(max(a, 0), 255.6)) + -128, 127)",
        ),
        ("round(cast(a) * 0.5 / 1e-39)", None),
        # A sum of whole numbers needs no rounding; a limit with a fraction does.
        ("round(round(a) + 3) - 3", "round(a)"),
        ("round(min(max(round(a) + 3, -0.5), 6)) - 3", None),
    ],
)
def test_rewritten(written: str, expected: str | None) -> None:
    assert requantized(parse(written)) is parse(expected or written)


def swish(m: Quantizer, x: str) -> str:
    """HardSwish as ONNX Runtime's quantiser leaves it."""
    gate = m.qdq(m.add("HardSigmoid", x, alpha=1 / 6, beta=0.5), 1 / 255, 0)
    return m.qdq(m.add("Mul", x, gate), 0.03, 12)


def test_values_of_all_bytes() -> None:
    m = Quantizer()
    model = m.finished(swish(m, m.qdq(m.input("x", (256,)), 0.05, 120)))
    found = calls(model)
    assert not any("div(round" in str(getattr(call.spec, "expression", "")) for call in found.calls)
    given = {"x": ((np.arange(256) - 120) * 0.05).astype(np.float32)}
    (expected,) = evaluator(read(model)).run(None, given)
    (made,) = run(found, given).values()
    assert len(np.unique(expected)) > 100
    np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_a_subexpression_that_is_used_twice_counts_once() -> None:
    x = variable("x")
    for _ in range(5):
        x = call("mul", (call("sigmoid", (x,)), x))
    assert size_of(x).computed > MOST_CHARACTERS > shared_size(x)
    assert not is_too_long(x)
    for _ in range(30):
        x = call("sigmoid", (call("tanh", (x,)),))
    assert is_too_long(x)


def test_a_decomposed_activation_is_in_the_epilogue_of_its_product() -> None:
    m = Quantizer()
    y = m.conv(m.qdq(m.input("x", (1, 4, 5, 6)), 0.03, 125), 8, 4, 1, 1, relu=False)
    found = calls(m.finished(m.conv(swish(m, y), 4, 8, 1, 1)))
    kinds = [type(call.spec).__name__ for call in found.calls]
    assert kinds == ["Elementwise", "Matmul", "Matmul", "Elementwise"]
