"""Nodes that become the body by which ONNX defines their operator."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from kgen.errors import GraphError
from kgen.graph import compile as compiling
from kgen.graph import operators
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.ir import Builder, GraphValue
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS
from kgen.graph.operators.registry import Operator
from kgen.graph.reading.function_bodies import body_of
from kgen.graph.reading.model import Model, Node
from tests.onnx_models import Array, Maker, reference, run

X = (np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 9.5) / 4


def compiled(model: onnx.ModelProto, **inputs: Array) -> tuple[dict[str, Array], Model]:
    """Return the outputs that a model's calls compute, and the imported graph."""
    model_read, graph = graph_by_bodies(model, {})
    return run(lower(fuse(graph)), inputs or {"x": X}), model_read


def normalised(x: Array, axes: tuple[int, ...]) -> Array:
    apart = x - x.mean(axis=axes, keepdims=True)
    return np.asarray(apart / np.sqrt((apart**2).mean(axis=axes, keepdims=True) + 1e-5))


@pytest.mark.parametrize("opset", [18, 21])
def test_an_operator_without_lowering_becomes_its_body(opset: int) -> None:
    """Groups of channels; the scale is one number for each group before opset 21."""
    m = Maker(opset=opset)
    x = m.input("x", (2, 4, 3))
    each = np.arange(1, 5) if opset == 21 else np.array([1, 2])
    scale, bias = m.constant(each), m.constant(-each)
    y = m.add("Neg", m.add("GroupNormalization", x, scale, bias, num_groups=2))
    given = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    found, model = compiled(m.model(y), x=given)
    scales = (each if opset == 21 else each.repeat(2)).reshape(1, 4, 1)
    expected = normalised(given.reshape(2, 2, 6), (2,)).reshape(2, 4, 3) * scales - scales
    np.testing.assert_allclose(found[y].reshape(2, 4, 3), -expected, rtol=1e-4, atol=1e-5)
    assert "GroupNormalization" not in {node.operator for node in model.nodes}
    *inner, last = model.nodes
    assert all(node.name.startswith("/GroupNormalization0/") for node in inner)
    assert last.name == "/Neg1"


@pytest.mark.parametrize(
    ("operator", "opset", "attributes", "expected"),
    [
        ("ThresholdedRelu", 22, {}, lambda x: np.where(x > 1, x, 0)),
        ("ThresholdedRelu", 10, {"alpha": 0.5}, lambda x: np.where(x > 0.5, x, 0)),
        ("Shrink", 9, {"lambd": 1.0, "bias": 0.5},
         lambda x: np.where(x < -1, x + 0.5, np.where(x > 1, x - 0.5, 0))),
    ],
)  # fmt: skip
def test_attributes_and_their_defaults(
    operator: str, opset: int, attributes: dict[str, Any], expected: Any
) -> None:
    """The operator's only function body is used, even if it is of a later opset."""
    m = Maker(opset=opset)
    y = m.add(operator, m.input("x", X.shape), **attributes)
    found, _ = compiled(m.model(y))
    np.testing.assert_allclose(found[y].reshape(X.shape), expected(X), rtol=1e-4, atol=1e-5)


def test_a_body_within_a_body() -> None:
    """SoftmaxCrossEntropyLoss becomes LogSoftmax and NegativeLogLikelihoodLoss, which has a body,
    too."""
    m = Maker(opset=13)
    labels = m.constant([[0, 2, 1, 1], [2, 2, 0, 1]], np.int64)
    y = m.add("SoftmaxCrossEntropyLoss", m.input("x", X.shape), labels, reduction="none")
    model = m.model(y)
    found, _ = compiled(model)
    expected = reference(model, x=X)
    np.testing.assert_allclose(found[y].reshape(expected.shape), expected, rtol=1e-5)


def test_heads_that_are_rotated_whole() -> None:
    """RotaryEmbedding splits off the part of a head that is not rotated; here it has no
    elements."""
    m = Maker(opset=23)
    table, places = m.weight(9, 2), m.constant([[0, 3, 1], [4, 4, 8]], np.int64)
    x = m.add("Reshape", m.input("x", X.shape), m.constant([2, 1, 3, 4], np.int64))
    model = m.model(m.add("RotaryEmbedding", x, table, m.weight(9, 2), places))
    found, _ = compiled(model)
    (output,) = found.values()
    expected = reference(model, x=X)
    np.testing.assert_allclose(output.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


def refusing(b: Builder, node: Node, values: list[GraphValue | None]) -> GraphValue:
    """LayerNormalization over the last axis alone."""
    if node.attribute("axis", -1) != -1:
        raise b.refusal(f"has axis={node.attribute('axis')}", "set axis=-1 in the model")
    found = OPERATORS["LayerNormalization"].lower(b, node, values)
    return found[0] if isinstance(found, tuple) else found


@pytest.fixture
def last_axis_only(monkeypatch: pytest.MonkeyPatch) -> dict[str, Operator]:
    """Return operators with a LayerNormalization that accepts the last axis only, and has one
    result."""
    few = dict(OPERATORS)
    few["LayerNormalization"] = dataclasses.replace(few["LayerNormalization"], lower=refusing)
    for module in (compiling, operators):
        monkeypatch.setattr(module, "OPERATORS", few)
    return few


@pytest.mark.usefixtures("last_axis_only")
def test_refused_uses_become_the_body() -> None:
    """A node that is not refused keeps its kernel."""
    m = Maker()
    x = m.input("x", X.shape)
    y = m.add("LayerNormalization", x, m.constant(np.ones((3, 4))), axis=1)
    z, mean = m.add("LayerNormalization", y, m.constant(np.ones(4)), outputs=2)
    last = m.add("LayerNormalization", z, m.constant(np.ones(4)))
    found, model = compiled(m.model(last, mean))
    first = normalised(X, (1, 2))
    np.testing.assert_allclose(
        found[mean].reshape(2, 3, 1), first.mean(2, keepdims=True), rtol=1e-4, atol=1e-5
    )
    expected = normalised(normalised(first, (2,)), (2,))
    np.testing.assert_allclose(found[last].reshape(X.shape), expected, rtol=1e-4, atol=1e-5)
    assert [node.name for node in model.nodes if node.operator == "LayerNormalization"] == [
        "/LayerNormalization2"
    ]


def test_a_refusal_stays_if_the_body_is_refused_too(last_axis_only: dict[str, Operator]) -> None:
    """The message is about the model's node, not about a node of the body."""
    m = Maker()
    y = m.add("LayerNormalization", m.input("x", X.shape), m.weight(3, 4), axis=1)
    del last_axis_only["ReduceMean"]
    with pytest.raises(GraphError, match=r"^node /LayerNormalization0 \(LayerNormalization\) has "):
        compiled(m.model(y))


def test_an_operator_whose_body_is_not_supported_is_named() -> None:
    m = Maker()
    limit = m.add("ReduceMax", m.input("x", X.shape), keepdims=0)
    steps = m.add("Range", m.constant(0.0), limit, m.constant(1.0))
    with pytest.raises(GraphError) as caught:
        compiled(m.model(m.add("ReduceSum", steps, keepdims=0)))
    assert "kgen does not support: Range: /Range1 (its body needs Loop); kgen" in str(caught.value)


def test_a_body_that_is_not_known_without_types() -> None:
    """A node without known input types is not named; the node that hides the types is."""
    m = Maker(opset=13)
    x = m.add("Mystery", m.input("x", X.shape))
    labels = m.constant([[0, 2, 1, 1], [2, 2, 0, 1]], np.int64)
    loss = m.add("SoftmaxCrossEntropyLoss", x, labels)
    with pytest.raises(GraphError) as caught:
        compiled(m.model(loss))
    assert "1 node has an operator that kgen does not support: Mystery: /Mystery0;" in str(
        caught.value
    )


def function(
    nodes: list[onnx.NodeProto], outputs: list[str], attributes: list[str]
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 17)]
    return helper.make_function("own", "f", ["a", "b"], outputs, nodes, imports, attributes)


def test_names_and_attributes_of_a_body() -> None:
    """The body has a missing input, an input that is also a result, an input passed twice, an
    unused result, and an attribute that a nested graph reads."""
    inner = helper.make_node("LeakyRelu", ["t"], ["u"])
    inner.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=1))
    inner.attribute.append(onnx.AttributeProto(name="beta", ref_attr_name="none", type=1))
    out = [helper.make_tensor_value_info("u", T.FLOAT, None)]
    graph = helper.make_graph([inner], "g", [], out)
    nodes = [
        helper.make_node("Clip", ["a", "", "b"], ["t"]),
        helper.make_node("If", ["a"], ["r"], then_branch=graph, else_branch=graph),
        helper.make_node("Exp", ["a"], ["unwanted"]),
    ]
    call = helper.make_node("f", ["x"], ["y", "same", "copy", ""], domain="own", slope=0.5)
    own = function(nodes, ["r", "r", "a", "unwanted"], ["slope", "none"])
    body = body_of(own, call, "call", {})
    clip, choice, *copies = body.nodes
    assert (list(clip.input), list(clip.output)) == (["x", "", ""], ["y/t"])
    assert (clip.name, choice.name) == ("call/t", "call/y")
    assert list(choice.output) == ["y"]
    assert sorted((*copy.input, *copy.output) for copy in copies) == [("x", "copy"), ("y", "same")]
    (found,) = choice.attribute[0].g.node
    assert [(a.name, a.f, a.ref_attr_name) for a in found.attribute] == [("alpha", 0.5, "")]
    assert list(found.input) == ["y/t"]


@pytest.mark.integration
def test_what_compile_model_takes(tmp_path: Path) -> None:
    """A path, a file's bytes and a protocol buffer give the same model; the protocol buffer is not
    changed."""
    import kgen

    m = Maker(opset=20)
    m.rng.shuffle(m.nodes)
    y = m.add("Neg", m.add("Exp", m.input("x", X.shape)))
    m.nodes.reverse()
    model = m.model(y)
    before = model.SerializeToString()
    onnx.save(model, tmp_path / "m.onnx")
    sources = (tmp_path / "m.onnx", str(tmp_path / "m.onnx"), before, model)
    made = [kgen.compile_model(s, ["x86-64-v3"]).to_bytes() for s in sources]
    assert len({*made}) == 1
    assert model.SerializeToString() == before


@pytest.mark.parametrize("as_bytes", [True, False])
def test_data_in_a_file_of_their_own_need_a_path(as_bytes: bool) -> None:
    import kgen

    m = Maker()
    model = m.model(m.add("Add", m.input("x", (3,)), m.weight(3)))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = T.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    name = "bytes" if as_bytes else "ModelProto"
    with pytest.raises(
        GraphError, match=f"model={name}: the data of c0 are in a file of their own; give the path"
    ):
        kgen.compile_model(model.SerializeToString() if as_bytes else model, ["x86-64-v3"])
    with pytest.raises(GraphError, match="model=bytes is not an ONNX file, or is truncated"):
        kgen.compile_model(b"\x0a\xff\xff", ["x86-64-v3"])
