"""Loop and Scan whose steps are known when a model is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kgen.check.model.truth import evaluator, in_f64
from kgen.errors import GraphError
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from kgen.graph.reading import loops
from tests.onnx_models import Array, Maker, run

X = (np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 9.5) / 4


def values(**shapes: Any) -> list[onnx.ValueInfoProto]:
    """Return values of these shapes; a shape may begin with a type other than f32."""
    found = []
    for name, given in shapes.items():
        kind, shape = given if isinstance(given, tuple) else (T.FLOAT, given)
        found.append(helper.make_tensor_value_info(name, kind, shape))
    return found


def computed(model: onnx.ModelProto, **inputs: Array) -> tuple[dict[str, Array], list[Array]]:
    """Return the outputs by a model's calls, and by the definitions in f64."""
    _, graph = graph_by_bodies(model, {})
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    return run(lower(fuse(graph)), inputs), evaluator(in_f64(model)).run(None, wide)


def sums(m: Maker, num_results: int = 2, **attributes: Any) -> Any:
    """A Scan that adds the rows of x to a state, and returns each sum times a constant."""
    axis = attributes.get("scan_input_axes", [0])[0]
    shape = [n for i, n in enumerate(X.shape) if i != axis % 3]
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "row"], ["sum"]),
            helper.make_node("Mul", ["sum", "factor"], ["scaled"]),
        ],
        "body",
        values(state=shape, row=shape),
        values(sum=shape, scaled=shape),
        [numpy_helper.from_array(np.float32(0.5), "factor")],
    )
    start = m.constant(np.ones(shape))
    return m.add("Scan", start, m.input("x", X.shape), outputs=num_results, body=body,
                 num_scan_inputs=1, **attributes)  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("is_reversed", [0, 1])
@pytest.mark.parametrize("out_axis", [0, 2, -1])
def test_a_scan(axis: int, is_reversed: int, out_axis: int) -> None:
    """The definition against which models are verified agrees, too."""
    m = Maker(opset=21)
    last, all_sums = sums(
        m, scan_input_axes=[axis], scan_input_directions=[is_reversed],
        scan_output_axes=[out_axis], scan_output_directions=[1 - is_reversed],
    )  # fmt: skip
    found, defined = computed(m.model(last, all_sums), x=X)
    rows = np.moveaxis(X, axis, 0)
    steps = 1 + np.cumsum(rows[::-1] if is_reversed else rows, axis=0)
    np.testing.assert_allclose(found[last].reshape(steps[-1].shape), steps[-1], rtol=1e-5)
    np.testing.assert_allclose(defined[0], steps[-1], rtol=1e-6)
    ordered = steps if is_reversed else steps[::-1]
    expected = np.moveaxis(0.5 * ordered, 0, out_axis)
    np.testing.assert_allclose(found[all_sums].reshape(expected.shape), expected, rtol=1e-5)
    np.testing.assert_allclose(defined[1], expected, rtol=1e-6)


def counted(
    m: Maker, count: Any, condition: Any, still: Sequence[onnx.NodeProto], state: str
) -> Any:
    """A Loop that multiplies a state by the step's number; `still` computes its condition."""
    body = helper.make_graph(
        [
            helper.make_node("Cast", ["i"], ["number"], to=T.FLOAT),
            helper.make_node("Mul", ["state", "number"], ["product"]),
            helper.make_node("Add", ["product", "outside"], ["next"]),
            *still,
        ],
        "body",
        values(i=(T.INT64, []), going=(T.BOOL, []), state=[2, 3]),
        values(still=(T.BOOL, []), next=[2, 3], product=[2, 3]),
    )
    m.nodes.append(helper.make_node("Neg", [state], ["outside"]))
    names = [v if isinstance(v, str) else m.constant(v, np.asarray(v).dtype)
             for v in (count, condition)]  # fmt: skip
    return m.add("Loop", *names, state, outputs=2, body=body)


GOES_ON = [helper.make_node("Identity", ["going"], ["still"])]
#: Ends the loop behind the step of number 2.
UNTIL_2 = [
    helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.asarray(2))),
    helper.make_node("Less", ["i", "two"], ["still"]),
]


@pytest.mark.parametrize(
    ("count", "condition", "still", "steps"),
    [
        (4, True, GOES_ON, 4),
        (4, "", GOES_ON, 4),
        (1, "", GOES_ON, 1),
        (9, True, UNTIL_2, 3),
        ("", True, UNTIL_2, 3),
        (2**62, True, UNTIL_2, 3),
    ],
)
def test_a_loop(count: Any, condition: Any, still: Any, steps: int) -> None:
    m = Maker(opset=21)
    count = count if isinstance(count, str) else np.asarray(count, np.int64)
    x = m.input("x", (2, 3))
    last, products = counted(m, count, condition, still, x)
    found, defined = computed(m.model(last, products), x=X[0, :2, :3])
    state, expected = X[0, :2, :3], []
    for number in range(steps):
        expected.append(state * number)
        state = expected[-1] - X[0, :2, :3]
    np.testing.assert_allclose(found[last].reshape(2, 3), state, rtol=1e-5)
    np.testing.assert_allclose(found[products].reshape(steps, 2, 3), expected, rtol=1e-5)
    np.testing.assert_allclose(defined[0], state, rtol=1e-6)
    np.testing.assert_allclose(defined[1], expected, rtol=1e-6)


@pytest.mark.parametrize(("count", "condition"), [(0, True), (-3, True), (4, False)])
def test_a_loop_without_steps_gives_its_states(count: int, condition: bool) -> None:
    m = Maker(opset=21)
    x = m.input("x", (2, 3))
    last, _ = counted(m, np.asarray(count, np.int64), condition, GOES_ON, x)
    found, (defined,) = computed(m.model(y := m.add("Neg", last)), x=X[0, :2, :3])
    np.testing.assert_allclose(found[y].reshape(2, 3), -X[0, :2, :3])
    np.testing.assert_allclose(defined, -X[0, :2, :3])


def test_a_loop_within_a_loop() -> None:
    """Both loops use one name for their step, and the inner state hides the outer one."""
    inner = helper.make_graph(
        [
            helper.make_node("Cast", ["i"], ["number"], to=T.FLOAT),
            helper.make_node("Add", ["state", "number"], ["inner_next"]),
            *GOES_ON,
        ],
        "inner",
        values(i=(T.INT64, []), going=(T.BOOL, []), state=[3]),
        values(still=(T.BOOL, []), inner_next=[3]),
    )
    outer = helper.make_graph(
        [
            helper.make_node("Mul", ["state", "two"], ["doubled"]),
            helper.make_node("Loop", ["count", "", "doubled"], ["next"], body=inner),
            helper.make_node("Identity", ["going"], ["still"]),
        ],
        "outer",
        values(i=(T.INT64, []), going=(T.BOOL, []), state=[3]),
        values(still=(T.BOOL, []), next=[3]),
        [numpy_helper.from_array(np.float32(2), "two")],
    )
    m = Maker(opset=21)
    x = m.input("x", (3,))
    m.constants["count"] = np.asarray(3)
    y = m.add("Loop", m.constant(2, np.int64), "", x, body=outer)
    given = np.array([1, -2, 0.5], np.float32)
    found, (defined,) = computed(m.model(y), x=given)
    np.testing.assert_allclose(found[y], (given * 2 + 3) * 2 + 3, rtol=1e-6)
    np.testing.assert_allclose(defined, (given * 2 + 3) * 2 + 3, rtol=1e-6)


def refused(m: Maker, output: str, match: str) -> None:
    with pytest.raises(GraphError, match=match):
        graph_by_bodies(m.model(output), {})


def test_a_trip_count_from_data_is_refused() -> None:
    m = Maker(opset=21)
    x, count = m.input("x", (2, 3)), m.input("count", (), T.INT64)
    last, _ = counted(m, count, True, GOES_ON, x)
    refused(m, last, r"support: Loop: /Loop\d+ \(its trip count depends on data\)")


def test_a_condition_from_data_is_refused() -> None:
    m = Maker(opset=21)
    still = [
        helper.make_node("ReduceMax", ["next"], ["largest"], keepdims=0),
        helper.make_node("IsNaN", ["largest"], ["still"]),
    ]
    last, _ = counted(m, np.asarray(4), True, still, m.input("x", (2, 3)))
    refused(m, last, r"Loop: /Loop\d+ \(the condition that ends it depends on data\)")


def test_a_body_that_is_not_supported_is_named_once() -> None:
    m = Maker(opset=21)
    still = [*GOES_ON, helper.make_node("Multinomial", ["next"], ["drawn"], sample_size=1)]
    still.append(helper.make_node("Identity", ["drawn"], ["kept"]))
    last, _ = counted(m, np.asarray(4), True, still, m.input("x", (2, 3)))
    graph = m.nodes[-1].attribute[0].g
    graph.output[2].name = "kept"
    refused(m, last, r"^1 node has an operator .*: Loop: /Loop\d+ \(its body needs Multinomial\)")


def test_too_many_steps_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts the body's nodes and one more for each step."""
    monkeypatch.setattr(loops, "MOST_UNROLLED", 20)
    for count, fits in ((4, True), (5, False)):
        m = Maker(opset=21)
        last, _ = counted(m, np.asarray(count), True, GOES_ON, m.input("x", (2, 3)))
        if fits:
            graph_by_bodies(m.model(last), {})
        else:
            refused(m, last, r"\(Loop\): the steps .* have more than 20 nodes, the limit; compile")


def test_a_body_that_does_not_fit_is_refused() -> None:
    m = Maker(opset=21)
    (only,) = [sums(m, num_results=1)]
    refused(m, only, r"\(Scan\) has a body of 2 inputs and 2 results; .* require 2 and 1")


def test_inputs_of_different_lengths_are_refused() -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["c"])], "body", values(a=[], b=[]), values(c=[])
    )
    m = Maker(opset=21)
    x, y = m.input("x", (2,)), m.input("y", (3,))
    made = m.add("Scan", x, y, body=body, num_scan_inputs=2)
    refused(m, made, r"\(Scan\) has inputs of 2, 3 steps; they must have the same number")


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention(rule: str) -> None:
    """Its function body is a Scan; two heads of queries share one head of keys."""
    m = Maker(opset=27)
    sizes = {"q": 12, "k": 6, "v": 4, "decay": 6, "beta": 1}
    wanted = {"decay": "gated" in rule, "beta": "delta" in rule}
    given = {n: m.rng.standard_normal((2, 5, size)).astype(np.float32) / 2
             for n, size in sizes.items() if wanted.get(n, True)}  # fmt: skip
    names = [m.input(n, given[n].shape) if n in given else "" for n in sizes]
    output, state = m.add(
        "LinearAttention", *names[:3], "", *names[3:], outputs=2, q_num_heads=2, kv_num_heads=1,
        update_rule=rule,
    )  # fmt: skip
    model = m.model(output, state)
    found, defined = computed(model, **given)
    by_onnx = ReferenceEvaluator(model).run(None, given)
    for name, exact, expected in zip((output, state), defined, by_onnx, strict=True):
        assert exact.dtype == np.float64
        np.testing.assert_allclose(exact, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[name], exact.reshape(-1), rtol=1e-4, atol=1e-5)
