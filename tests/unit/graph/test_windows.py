"""Convolutions, poolings and recurrent layers, computed by the scalar reference, against
definitions in numpy; these against onnx's reference where that is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnx")
from onnx import TensorProto as T
from onnx import helper
from onnx.reference import ReferenceEvaluator

from kgen.errors import GraphError
from kgen.graph.fusing.limits import MOST_OPERANDS
from kgen.spec import Conv2d, Matmul
from tests.onnx_models import Maker, lowered, reference, run
from tests.onnx_operators import CASES

#: Where onnx's own reference is wrong, or takes no such node.
WRONG = {
    "LSTM, both": "it has one direction",
    "GRU, linear": "it has one direction",
    "LSTM, cell": "it takes no direction and no peepholes",
    "MaxPool, same": "it begins one window more",
    "ConvTranspose, groups": "it does not take groups",
    "Pad, cut": "it does not pad by less than nothing",
}


def drawn(m: Maker) -> Any:
    shape = [d.dim_value for d in m.inputs[0].type.tensor_type.shape.dim]
    return (m.rng.standard_normal(shape) * 2).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_against_definitions(name: str) -> None:
    m = Maker()
    output = CASES[name](m)
    calls, model = lowered(m, output)
    x = drawn(m)
    expected = reference(model, x=x)
    (found,) = run(calls, {"x": x}).values()
    assert found.size == expected.size
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes", "windows"),
    [
        ((2, 3, 5, 6), (4, 3, 3, 3), {"pads": [1, 1, 1, 1]}, 1),
        ((1, 3, 9, 8), (4, 3, 2, 3), {"strides": [2, 3], "pads": [0, 1, 1, 0]}, 1),
        ((1, 3, 7, 8), (4, 3, 3, 3), {"dilations": [3, 3], "pads": [3, 3, 3, 3]}, 1),
        # Places that see padding alone are dropped: one is left, which is a matmul.
        ((1, 3, 4, 4), (4, 3, 3, 3), {"dilations": [6, 6], "pads": [6, 6, 6, 6]}, 0),
        ((1, 3, 4, 6), (4, 3, 3, 3), {"dilations": [4, 1], "pads": [4, 1, 4, 1]}, 1),
        ((2, 5, 11), (4, 5, 4), {"auto_pad": "SAME_UPPER", "strides": [2]}, 1),
        ((1, 2, 3, 4, 3), (3, 2, 2, 2, 2), {"pads": [0, 1, 0, 1, 0, 1]}, 1),
        ((1, 6, 5, 5), (4, 3, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}, 1),
        ((2, 6, 5), (9, 2, 3), {"group": 3, "strides": [2]}, 1),
        ((1, 8, 7, 7), (5, 8, 3, 3), {"pads": [1, 2, 0, 1], "dilations": [2, 1]}, 1),
        ((1, 6, 4, 3), (6, 2, 1, 1), {"group": 3}, 1),
        ((1, 3, 5, 5), (4, 3, 1, 1), {"strides": [2, 2]}, 1),
        # Windows of padding alone, in front and behind, which kernels do not pad themselves.
        ((1, 3, 4, 3), (4, 3, 1, 1), {"pads": [1, 0, 2, 0]}, 1),
        ((1, 2, 4, 9), (3, 2, 2, 3), {"pads": [0, 3, 0, 4]}, 1),
        ((1, 3, 5, 4), (4, 3, 1, 1), {}, 0),
        # Two windows, of which the second one sees the image.
        ((1, 3, 4, 3), (4, 3, 1, 1), {"pads": [5, 0, 0, 0], "strides": [8, 1]}, 0),
    ],
)
def test_windows_read_from_images(
    shape: tuple[int, ...], kernel: tuple[int, ...], attributes: dict[str, Any], windows: int
) -> None:
    m = Maker()
    x = m.input("x", shape)
    y = m.add("Conv", x, m.weight(*kernel), m.weight(kernel[0]), **attributes)
    calls, model = lowered(m, m.add("Relu", y))
    kinds = [call.spec.op for call in calls.calls]
    assert kinds.count("conv2d") == windows
    if windows:
        spec = next(call.spec for call in calls.calls if call.spec.op == "conv2d")
        assert isinstance(spec, Conv2d) and spec.constant and spec.epilogue == "relu(add(x, bias))"
    given = drawn(m)
    expected = reference(model, x=given)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes", "places"),
    [
        ((2, 3, 4, 4), (5, 3, 3, 3), {"dilations": [3, 3], "pads": [3, 3, 3, 3]}, 9),
        ((1, 3, 5, 7), (5, 3, 3, 3), {"dilations": [4, 5], "pads": [4, 5, 4, 5]}, 9),
        # Every second window, unequal pads.
        ((1, 7, 9), (3, 7, 3), {"dilations": [7], "strides": [2], "pads": [6, 7]}, 3),
        # Some places of both axes together see padding alone.
        ((1, 3, 9), (4, 3, 3), {"dilations": [7], "pads": [7, 7]}, 3),
        # More places than one kernel has operands.
        ((1, 2, 2, 2), (3, 2, 5, 5), {"pads": [4, 4, 4, 4]}, 25),
    ],
)  # fmt: skip
def test_places_that_see_little(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    attributes: dict[str, Any],
    places: int,
) -> None:
    """Windows of mostly padding become one product for each position of the kernel, of the elements
    that it sees."""
    m = Maker()
    y = m.add("Conv", m.input("x", shape), m.weight(*kernel), m.weight(kernel[0]), **attributes)
    calls, model = lowered(m, m.add("Relu", y))
    assert [call.spec.op for call in calls.calls].count("matmul") == places
    assert all(len(call.spec.parameters) <= MOST_OPERANDS + 1 for call in calls.calls)
    given = drawn(m)
    expected = reference(model, x=given)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize(
    ("outputs", "depthwise", "kernels"), [(4, True, 1), (8, True, 1), (12, True, 0), (8, False, 0)]
)
def test_outputs_for_each_channel(outputs: int, depthwise: bool, kernels: int) -> None:
    """Depthwise kernels support 1, 2, 4, ... outputs for each channel; formulas support any
    number."""
    m = Maker()
    y = m.add("Conv", m.input("x", (1, 4, 5, 6)), m.weight(outputs, 1, 3, 2), group=4)
    calls, model = lowered(m, y, depthwise=depthwise)
    assert sum(isinstance(call.spec, Conv2d) for call in calls.calls) == kernels
    given = drawn(m)
    expected = reference(model, x=given)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize(
    ("shape", "kernel", "attributes"),
    [
        ((1, 2, 1, 1), (3, 2, 1, 1), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
        ((2, 2, 1, 4), (2, 1, 2, 3), {"pads": [5, 0, 5, 0], "strides": [9, 1], "group": 2}),
        ((1, 4, 1), (6, 2, 2), {"pads": [2, 3], "strides": [3], "dilations": [3], "group": 2}),
    ],
)
def test_windows_of_nothing_but_padding(
    shape: tuple[int, ...], kernel: tuple[int, ...], attributes: dict[str, Any], depthwise: bool
) -> None:
    m = Maker()
    y = m.add("Conv", m.input("x", shape), m.weight(*kernel), m.weight(kernel[0]), **attributes)
    calls, model = lowered(m, y, depthwise=depthwise)
    given = drawn(m)
    expected = reference(model, x=given)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


def test_infinite_weights_over_padding_make_nan() -> None:
    """Every position of the kernel is multiplied, even if it sees mostly padding."""
    m = Maker()
    w = np.ones((2, 3, 3, 3), np.float32)
    w[0, 0, 0, 0] = np.inf
    x = m.input("x", (1, 3, 4, 4))
    y = m.add("Conv", x, m.constant(w), dilations=[3, 3], pads=[3, 3, 3, 3])
    calls, _ = lowered(m, y)
    assert [call.spec.op for call in calls.calls].count("conv2d") == 1
    (found,) = run(calls, {"x": drawn(m)}).values()
    assert np.isnan(found.reshape(2, 4, 4)[0, 0, 0])


def test_residuals_and_weights_from_data() -> None:
    """A convolution of another one's output has its own input as residual, and computed weights."""
    m = Maker()
    x = m.input("x", (1, 4, 5, 5))
    y = m.add("Conv", x, m.weight(4, 4, 3, 3), pads=[1, 1, 1, 1])
    w = m.add("Exp", m.add("Mul", m.weight(4, 4, 3, 3), m.add("ReduceMean", x, keepdims=0)))
    z = m.add("Conv", m.add("Relu", y), w, pads=[1, 1, 1, 1])
    calls, model = lowered(m, m.add("Add", z, x))
    found = [call.spec for call in calls.calls if isinstance(call.spec, Conv2d)]
    assert [bool(spec.constant) for spec in found] == [True, False]
    given = drawn(m)
    expected = reference(model, x=given)
    (made,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes", "products"),
    [
        ((1, 3, 4, 3), (3, 2, 3, 3), {"strides": [2, 2]}, 4),
        ((1, 3, 4, 3), (3, 2, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}, 4),
        ((2, 3, 5), (3, 2, 5), {"strides": [3], "dilations": [2], "output_padding": [1]}, 3),
        # Phases that read the same windows.
        ((1, 3, 3, 4), (3, 2, 3, 2), {"strides": [1, 2], "pads": [1, 0, 0, 1]}, 1),
        ((2, 3, 4, 3), (3, 2, 4, 6), {"strides": [2, 3]}, 1),
        ((1, 6, 4, 3), (6, 2, 3, 3), {"strides": [2, 2], "group": 3}, 4),
        # No place of the kernel reaches every second output.
        ((1, 3, 5), (3, 2, 2), {"strides": [2], "dilations": [2]}, 1),
    ],
)
def test_phases_of_transposed_convolutions(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    attributes: dict[str, Any],
    products: int,
) -> None:
    m = Maker()
    x = m.input("x", shape)
    bias = m.weight(kernel[1] * attributes.get("group", 1))
    y = m.add("ConvTranspose", x, m.weight(*kernel), bias, **attributes)
    calls, model = lowered(m, y)
    kinds = [call.spec.op for call in calls.calls]
    assert kinds.count("conv2d") + kinds.count("matmul") == products
    given = drawn(m)
    expected = reference(model, x=given)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize(
    ("shape", "kernel", "products"),
    [
        ((2, 3, 4, 5), (3, 2, 2, 3), 2 * 4 * 2),
        ((1, 3, 2, 3, 4), (3, 2, 2, 3, 2), 2 * 2 * 3 * 3),
        ((1, 3, 5), (3, 2, 2), 1),
        # The weights are larger than the outputs of a row.
        ((2, 11, 4, 5), (11, 2, 2, 3), 1),
    ],
)
def test_windows_of_transposed_convolutions_that_do_not_overlap(
    shape: tuple[int, ...], kernel: tuple[int, ...], products: int
) -> None:
    """Each row of the output is a product if the weights are small."""
    m = Maker()
    x = m.input("x", shape)
    w, bias = m.weight(*kernel), m.weight(kernel[1])
    y = m.add("ConvTranspose", x, w, bias, strides=list(kernel[2:]))
    calls, model = lowered(m, y)
    (spec,) = (call.spec for call in calls.calls if isinstance(call.spec, Matmul))
    assert spec.batch == products
    given = drawn(m)
    expected = reference(model, x=given)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name not in WRONG])
def test_definitions_against_onnx(name: str) -> None:
    m = Maker()
    model = m.model(CASES[name](m))
    x = drawn(m)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    found = reference(model, x=x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset", [10, 19, 22])
def test_a_last_window_that_begins_in_the_padding_is_left_out(opset: int) -> None:
    """ONNX's own case, at opsets whose shape inference counts the window and at one that does
    not."""
    m = Maker(opset=opset)
    x = m.input("x", (1, 3, 2, 2))
    y = m.add("AveragePool", x, kernel_shape=[3, 3], strides=[3, 3], pads=[1] * 4, ceil_mode=1)
    calls, _ = lowered(m, y)
    given = drawn(m)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found, given.mean((2, 3)).reshape(-1), rtol=1e-6)


def test_normalizations_go_into_weights() -> None:
    """A normalization stays if another node reads its input or the weights are not constant."""
    m = Maker()
    x = m.input("x", (1, 3, 4, 5))

    def normal(y: str) -> str:
        given = [m.constant(np.abs(m.rng.standard_normal(4)) + 0.3) for _ in range(4)]
        return str(m.add("BatchNormalization", y, *given, epsilon=0.1))

    alone = normal(m.add("Conv", x, m.weight(4, 3, 1, 1), m.weight(4)))
    shared = m.add("Conv", x, m.weight(4, 3, 1, 1))
    output = m.add("Add", m.add("Mul", alone, normal(shared)), shared)
    calls, model = lowered(m, output)
    formulas = [str(getattr(call.spec, "epilogue", "")) for call in calls.calls]
    assert "add(x, bias)" in formulas
    (both,) = (c.nodes for c in calls.calls if getattr(c.spec, "epilogue", "") == "add(x, bias)")
    assert both == ("/Conv0", "/BatchNormalization1")
    given = drawn(m)
    expected = reference(model, x=given)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


LONG: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "prime": ((1, 2, 300), {"kernel_shape": [67]}),
    "product": ((1, 2, 300), {"kernel_shape": [100], "strides": [7]}),
    "strides of a window": ((2, 1, 300), {"kernel_shape": [100], "strides": [100]}),
    "pads": ((1, 2, 90), {"kernel_shape": [80], "pads": [40, 79], "strides": [3]}),
    "more pads than elements": ((1, 1, 9), {"kernel_shape": [150], "pads": [141, 149]}),
    "plane": ((1, 2, 70, 80), {"kernel_shape": [66, 71], "pads": [3, 0, 5, 9]}),
    "three stages": ((1, 1, 5100), {"kernel_shape": [4999], "strides": [101]}),
}
SLOW = ("plane", "three stages")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in LONG]
)
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_long_windows(operator: str, name: str) -> None:
    """numpy's sliding windows over a padded tensor."""
    shape, attributes = LONG[name]
    if operator == "AveragePool":
        attributes = {**attributes, "count_include_pad": 1}
    m = Maker()
    calls, _ = lowered(m, m.add(operator, m.input("x", shape), **attributes))
    given = drawn(m)
    sizes, rank = attributes["kernel_shape"], len(shape) - 2
    pads = attributes.get("pads", [0] * 2 * rank)
    steps = attributes.get("strides", [1] * rank)
    around = -np.inf if operator == "MaxPool" else 0.0
    widths = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    whole = np.pad(given, widths, constant_values=around).astype(np.float64)
    axes = tuple(range(2, rank + 2))
    seen = np.lib.stride_tricks.sliding_window_view(whole, sizes, axes)
    seen = seen[(slice(None), slice(None), *(slice(None, None, step) for step in steps))]
    inner = tuple(range(-rank, 0))
    expected = seen.max(inner) if operator == "MaxPool" else seen.mean(inner)
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


def test_long_windows_with_dilations() -> None:
    m = Maker(19)
    x = m.input("x", (1, 2, 400))
    attributes: dict[str, Any] = {
        "kernel_shape": [131],
        "dilations": [3],
        "strides": [2],
        "pads": [5, 0],
    }
    calls, model = lowered(m, m.add("MaxPool", x, **attributes))
    given = drawn(m)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": given})
    (found,) = run(calls, {"x": given}).values()
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


def refused(make: Any) -> str:
    m = Maker()
    with pytest.raises(GraphError) as found:
        lowered(m, make(m, m.input("x", (1, 2, 5, 5))))
    message = str(found.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"dilations": [-1, 1]}, "dilations must only contain positive"),
        ({"strides": [0, 1]}, "strides must only contain positive"),
        ({"pads": [1 << 40] * 4}, "results have 1 to"),
        ({"pads": [1 << 20, 0, 0, 0]}, "1048576 is the limit"),
        ({"pads": [1]}, "pads has incorrect size"),
        ({"kernel_shape": [1, 1]}, "kernel_shape=1,1, and weights of 3x3; leave kernel_shape out"),
        ({"group": 0}, "group=0 with 2 channels"),
        ({"group": 3}, "group=3 with 2 channels"),
        ({"dilations": [9, 9]}, "result of shape 1x3x-13x-13"),
    ],
)
def test_convolutions_that_are_not_taken(attributes: dict[str, Any], why: str) -> None:
    message = refused(lambda m, x: m.add("Conv", x, m.weight(3, 2, 3, 3), **attributes))
    assert why in message and "/Conv0 (Conv)" in message


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ((1, 1, 2, 2, 2, 2), "has an input of 4 spatial axes; 3 is the limit"),
        (((1 << 20) + 1, 1, 2), r"input\[0\]=1048577 is out of range"),
    ],
)
def test_images_that_are_not_taken(shape: tuple[int, ...], why: str) -> None:
    m = Maker()
    y = m.add("Conv", m.input("x", shape), m.weight(1, 1, *(2 for _ in shape[2:])))
    with pytest.raises(GraphError, match=why):
        lowered(m, y)


@pytest.mark.parametrize(
    ("operator", "attributes", "why"),
    [
        ("MaxPool", {"kernel_shape": [2]}, "kernel_shape has incorrect size"),
        ("AveragePool", {"kernel_shape": [1, 1], "pads": [1, 0, 0, 0]}, "covers only padding"),
    ],
)  # fmt: skip
def test_uses_that_are_not_taken(operator: str, attributes: dict[str, Any], why: str) -> None:
    assert why in refused(lambda m, x: m.add(operator, x, **attributes))


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "why"),
    [
        ("ConvTranspose", [np.ones((2, 2, 2, 2))], {"pads": [9] * 4}, "results have 1 to"),
        ("Resize", ["", np.array([1.0, 1, 2, 2])], {"mode": "area"}, "mode=area"),
        ("Resize", ["", np.array([1, 1, 1e12, 1])], {}, "results have 1 to"),
        ("Resize", ["", np.array([1, 1, np.nan, 1])], {}, "results have 1 to"),
        ("Pad", [np.array([0] * 6 + [9, 0])], {"mode": "reflect"}, "reflects 9 of the 5"),
        ("Pad", [np.array([0] * 8)], {"mode": "zigzag"}, "mode=zigzag"),
        ("GatherND", [np.array([[7, 0]])], {}, "index outside of axes of 1x2"),
    ],
)
def test_inputs_that_are_not_taken(
    operator: str, inputs: list[Any], attributes: dict[str, Any], why: str
) -> None:
    def make(m: Maker, x: str) -> str:
        kinds = {"i": np.int64, "f": np.float32}
        given = [v if isinstance(v, str) else m.constant(v, kinds[v.dtype.kind]) for v in inputs]
        return str(m.add(operator, x, *given, **attributes))

    assert why in refused(make)


@pytest.mark.parametrize(
    ("shape", "attributes", "why"),
    [
        ((600, 1, 2), {}, "has 600 time steps; 512 is the limit"),
        ((2, 1, 2), {"activations": ["Sigmoid", "Tanh"]}, "it must have 3 of Affine"),
    ],
)
def test_layers_that_are_not_taken(
    shape: tuple[int, ...], attributes: dict[str, Any], why: str
) -> None:
    m = Maker()
    x = m.input("x", shape)
    given = (m.weight(1, 12, 2), m.weight(1, 12, 3))
    found = m.add("LSTM", x, *given, outputs=3, hidden_size=3, **attributes)
    with pytest.raises(GraphError, match=why):
        lowered(m, found[0])


@pytest.mark.parametrize("scale", [3.0, 0.1, -1.0])
def test_a_condition_from_data_takes_either_branch(scale: float) -> None:
    """Data select one branch of the inner If, the other one, or neither."""
    m = Maker()
    calls, model = lowered(m, CASES["If, data"](m))
    x = (np.abs(m.rng.standard_normal((2, 3))) * scale).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    (found,) = run(calls, {"x": x}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=3e-6, atol=3e-6)


def test_branches_of_two_shapes_are_refused() -> None:
    m = Maker()
    x = m.input("x", (2, 3))
    condition = m.add("Greater", m.add("ReduceSum", x), m.constant(0.0))

    def branch(*nodes: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph(
            nodes, "b", [], [helper.make_tensor_value_info("y", T.FLOAT, None)]
        )

    then = branch(helper.make_node("Neg", [x], ["y"]))
    other = branch(helper.make_node("Transpose", [x], ["y"]))
    output = m.add("If", condition, then_branch=then, else_branch=other)
    with pytest.raises(
        GraphError, match=r"node /If2 \(If\) makes if2_0, 2x3 of FLOAT in one branch"
    ):
        lowered(m, output)
