"""Written-out functions are recognised by their values, whatever an exporter writes."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")
from kgen.graph.rewrites.decomposed_functions import recognised
from kgen.graph.rewrites.norms import normalized
from kgen.ops import parse
from kgen.ops.expression import call, variable

#: Constants as f32 has them.
ROOT2, ROOT_2_PI, CUBE = 1.4142135381698608, 0.7978845834732056, 0.044714998453855515


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (f"x * 0.5 * (1 + erf(x / {ROOT2}))", "gelu(x)"),
        (f"0.5 * (x * (erf(x * {1 / ROOT2}) + 1))", "gelu(x)"),
        (f"0.5 * x * (1 + tanh({ROOT_2_PI} * (x + {CUBE} * x ** 3)))", "gelu_tanh(x)"),
        ("x * sigmoid(x)", "silu(x)"),
        ("x / (1 + exp(-x))", "silu(x)"),
        ("1 / (1 + exp(-x))", "sigmoid(x)"),
        ("1 / sqrt(x)", "rsqrt(x)"),
        ("x * min(max(x + 3, 0), 6) / 6", "hard_swish(x)"),
        ("x * clip(x / 6 + 0.5, 0, 1)", "hard_swish(x)"),
        ("log(1 + exp(x))", "softplus(x)"),
        ("x * tanh(softplus(x))", "mish(x)"),
        ("x * tanh(log(1 + exp(x)))", "mish(x)"),
        ("x * ((1 + exp(x)) ** 2 - 1) / ((1 + exp(x)) ** 2 + 1)", "mish(x)"),
        ("where(x > 20, x, log(1 + exp(x)))", "softplus(x)"),
        ("max(x, 0) + log(1 + exp(-abs(x)))", "softplus(x)"),
        ("log(exp(x) + 1)", "softplus(x)"),
        ("0.5 * (1 + tanh(0.5 * x))", "sigmoid(x)"),
        ("1 - 1 / (1 + exp(x))", "sigmoid(x)"),
        ("exp(x) / (1 + exp(x))", "sigmoid(x)"),
        ("x * 0.5 * (1 + tanh(0.5 * x))", "silu(x)"),
        ("sqrt(1 / x)", "rsqrt(x)"),
        ("x * clip(x + 3, 0, 6) * 0.1666666716337204", "hard_swish(x)"),
        (f"x * sigmoid({2 * ROOT_2_PI} * (x + {CUBE} * x * x * x))", "gelu_tanh(x)"),
        (f"x * (1 - 0.5 * (1 - erf(x * {1 / ROOT2})))", "gelu(x)"),
        (f"(x + b) * 0.5 * (1 + erf((x + b) / {ROOT2})) + r", "add(gelu(add(x, b)), r)"),
        ("y * (gate * sigmoid(gate))", "mul(y, silu(gate))"),
    ],
)  # fmt: skip
def test_written_out(written: str, name: str) -> None:
    assert str(recognised(parse(written))) == name


@pytest.mark.parametrize(
    "other",
    [
        "x * 0.5 * (1 + erf(x / 1.41))",
        "x * sigmoid(1.702 * x)",
        "x * sigmoid(y)",
        "x * 0.5 * (1.001 + erf(x / 1.4142135381698608))",
        "mean(x * x) + x",
        "where(logical_not(less(x, 0)), 1, 0)",
        "where(logical_not(x), 1, 0)",
        "1 / (1 + sqrt(x))",
        "sigmoid(x) + 1e-7",
        "sigmoid(x) + 1e-20",
        "log(1 + 1e-7 + exp(x))",
        "clip(sigmoid(x), 1e-6, 0.999999)",
        "min(sigmoid(x), 0.9999998807907104)",
        "max(sigmoid(x), 1e-12)",
        "min(silu(x), 10)",
        "clip(silu(x), -100, 65504)",
        "min(gelu(x), 50)",
        "where(x > 8, 0, silu(x))",
        "where(isnan(x), 0, silu(x))",
        "where(isinf(x), 0, mish(x))",
        "1 / max(sqrt(x), 1e-12)",
        "1 / max(sqrt(x), 1e-20)",
        "1 / (sqrt(x) + 1e-12)",
    ],
)
def test_others_stay(other: str) -> None:
    assert recognised(parse(other)) is parse(other)


def test_truth_values_that_are_inputs() -> None:
    """An importer's inputs are numbers until they are typed."""
    condition = call("logical_not", [variable("c")], truth=True)
    chosen = call("where", [condition, 1.0, 0.0])
    assert recognised(chosen) is chosen
    twice = call("where", [variable("c"), call("neg", [chosen]), chosen])
    assert recognised(twice) is twice


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(x - mean(x)) * rsqrt(mean((x - mean(x)) ** 2) + 0.5)", "layer_norm(x, 1, 0, 0.5)"),
        ("w * ((x - mean(x)) / sqrt(0.5 + mean(square(x - mean(x))))) + b",
         "layer_norm(x, w, b, 0.5)"),
        ("b + (x - mean(x)) * (rsqrt(mean((x - mean(x)) * (x - mean(x))) + 0.5) * w)",
         "layer_norm(x, w, b, 0.5)"),
        ("x * rsqrt(mean(x * x) + 0.5) * w", "rms_norm(x, w, 0.5)"),
        ("w * (x / sqrt(mean(x ** 2) + 0.5)) + b", "add(rms_norm(x, w, 0.5), b)"),
        ("exp(x) * w * rsqrt(mean(exp(x) ** 2) + 0.5)", "rms_norm(exp(x), w, 0.5)"),
    ],
)  # fmt: skip
def test_normalizations_are_found_in_any_order(text: str, found: str) -> None:
    assert str(normalized(parse(text))) == found


@pytest.mark.parametrize(
    "text",
    [
        "x * rsqrt(mean(y * y) + 0.5)",
        "x * rsqrt(mean(x * y) + 0.5)",
        "x * rsqrt(mean(x ** 3) + 0.5)",
        "x * rsqrt(amax(x * x) + 0.5)",
        "x * sqrt(mean(x * x) + 0.5)",
        "x / rsqrt(mean(x * x) + 0.5)",
        "x * rsqrt(mean(x * x) + w)",
        "x * amax(x) * rsqrt(mean(x * x) + 0.5)",
    ],
)
def test_what_is_nearly_a_normalization_stays(text: str) -> None:
    assert normalized(parse(text)) == parse(text)
