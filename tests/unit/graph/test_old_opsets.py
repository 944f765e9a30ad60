"""Operators of opset 1 to 6, functions of another opset than the model's, and sparse constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kgen.errors import GraphError
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading import sparse
from kgen.graph.reading.definitions import OPERATORS as DEFINED
from kgen.graph.reading.importer import imported
from kgen.graph.reading.onnx_file import read
from tests.onnx_models import Maker, run

Array = np.ndarray[Any, Any]
X = (np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4) - 9.5) / 4


def read_back(tmp_path: Path, model: onnx.ModelProto) -> onnx.ModelProto:
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    return read(file)


def computed(tmp_path: Path, model: onnx.ModelProto, x: Array = X) -> Array:
    """A model's output by its calls; it is also what verification computes it is."""
    proto = read_back(tmp_path, model)
    calls = lower(fuse(graph_of(imported(proto, {}, OPERATORS))))
    (found,) = run(calls, {"x": x}).values()
    (other,) = ReferenceEvaluator(proto, new_ops=list(DEFINED)).run(None, {"x": x})
    np.testing.assert_allclose(found.reshape(other.shape), other, rtol=1e-6)
    return found.reshape(other.shape)


def padded(x: Array) -> Array:
    return np.pad(x, ((0, 0), (0, 0), (1, 0), (2, 3)), constant_values=0.5)


OLD: dict[str, tuple[int, str, dict[str, Any], Any]] = {
    "Reshape-1": (1, "Reshape", {"shape": [0, -1, 4]}, lambda x: x.reshape(1, 6, 4)),
    "Concat-1": (1, "Concat", {}, lambda x: np.concatenate([x, x], 1)),
    "Concat-1, axis": (3, "Concat", {"axis": 3}, lambda x: np.concatenate([x, x], 3)),
    "Pad-1": (
        1, "Pad", {"paddings": [0, 0, 1, 2, 0, 0, 0, 3], "value": 0.5, "mode": "constant"}, padded
    ),
    "Cast-1": (1, "Cast", {"to": "INT32"}, lambda x: np.trunc(x).astype(np.int32)),
    "Cast-1, float": (5, "Cast", {"to": "float"}, lambda x: x),
    "Upsample-1": (
        1, "Upsample", {"height_scale": 2.0, "width_scale": 3.0, "mode": "nearest"},
        lambda x: x.repeat(2, 2).repeat(3, 3),
    ),
    "Upsample-1, of opset 6": (
        6, "Upsample", {"height_scale": 1.0, "width_scale": 2.0}, lambda x: x.repeat(2, 3)
    ),
    "Relu-1": (1, "Relu", {"consumed_inputs": [0]}, lambda x: np.maximum(x, 0)),
    "Sum-1": (1, "Sum", {"consumed_inputs": [0, 0]}, lambda x: x + x),
    "Clip-1": (1, "Clip", {"min": -1.0, "max": 0.5}, lambda x: np.clip(x, -1, 0.5)),
    "Dropout-1": (1, "Dropout", {"is_test": 1, "ratio": 0.5}, lambda x: x),
    "Elu-1": (
        1, "Elu", {"alpha": 2.0, "consumed_inputs": [0]},
        lambda x: np.where(x < 0, 2 * np.expm1(x), x),
    ),
    "Selu-1": (
        1, "Selu", {}, lambda x: 1.0507 * np.where(x < 0, 1.6732 * np.expm1(x), x)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD)
def test_an_operator_of_an_old_opset(tmp_path: Path, name: str) -> None:
    opset, operator, attributes, expected = OLD[name]
    m = Maker(opset=opset)
    x = m.input("x", X.shape)
    twice = operator in ("Concat", "Sum")
    y = m.add(operator, *[x] * (1 + twice), **attributes)
    found = computed(tmp_path, m.model(y, dtype=T.INT32 if name == "Cast-1" else T.FLOAT))
    np.testing.assert_allclose(found, expected(X), rtol=1e-6)


@pytest.mark.parametrize("name", OLD)
def test_an_operator_of_an_old_opset_is_folded(tmp_path: Path, name: str) -> None:
    opset, operator, attributes, expected = OLD[name]
    m = Maker(opset=opset)
    twice = operator in ("Concat", "Sum")
    y = m.add(operator, *[m.constant(X)] * (1 + twice), **attributes)
    found = imported(read_back(tmp_path, m.model(y)), {}, OPERATORS)
    assert not found.nodes
    np.testing.assert_allclose(found.constants[y], expected(X), rtol=1e-6)


def test_old_operators_beside_one_another_and_within_a_branch(tmp_path: Path) -> None:
    """Two of one kind have constants of their own."""
    m = Maker(opset=1)
    x = m.input("x", X.shape)
    a, b = (m.add("Reshape", x, shape=shape) for shape in ([6, 4], [4, 6]))
    inner = helper.make_graph(
        [helper.make_node("Reshape", [b], ["z"], shape=[6, 4])], "branch", [],
        [helper.make_tensor_value_info("z", T.FLOAT, [6, 4])],
    )  # fmt: skip
    m.constants["yes"] = np.asarray(True)
    m.nodes.append(helper.make_node("If", ["yes"], ["c"], then_branch=inner, else_branch=inner))
    model = m.model(m.add("Sum", a, "c"))
    proto = read_back(tmp_path, model)
    calls = lower(fuse(graph_of(imported(proto, {}, OPERATORS))))
    (found,) = run(calls, {"x": X}).values()
    np.testing.assert_allclose(found, 2 * X.reshape(-1))


@pytest.mark.parametrize(
    ("operator", "attributes", "why"),
    [
        ("Reshape", {}, "it has no shape"),
        ("Cast", {"to": "QUATERNION"}, "QUATERNION"),
        ("Pad", {"pads": [0] * 8}, "it has no paddings"),
        ("Upsample", {"width_scale": 2.0}, "it has no height_scale"),
    ],
)
def test_an_old_operator_that_is_not_as_its_opset_says(
    tmp_path: Path, operator: str, attributes: dict[str, Any], why: str
) -> None:
    m = Maker(opset=1)
    y = m.add(operator, m.input("x", X.shape), **attributes)
    with pytest.raises(GraphError) as caught:
        read_back(tmp_path, m.model(y))
    assert why in str(caught.value)
    assert f"node /{operator}0 ({operator}) of opset 1" in str(caught.value)


# -- functions of another opset ---------------------------------------------------------------


def with_function(own: int, outer: int, *nodes: onnx.NodeProto) -> onnx.ModelProto:
    """A model of one function of `a` that gives `b`, each of an opset."""
    imports = [helper.make_opsetid("", own)]
    m = Maker(opset=outer)
    m.nodes.append(helper.make_node("f", [m.input("x", X.shape)], ["y"], domain="own"))
    model = m.model("y")
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(helper.make_function("own", "f", ["a"], ["b"], list(nodes), imports))
    return model


@pytest.mark.parametrize(("own", "outer"), [(17, 17), (13, 17), (18, 13), (7, 21)])
def test_a_function_of_another_opset_whose_operators_mean_the_same(
    tmp_path: Path, own: int, outer: int
) -> None:
    body = helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Add", ["t", "a"], ["b"])
    found = computed(tmp_path, with_function(own, outer, *body))
    np.testing.assert_allclose(found, np.maximum(X, 0) + X)


@pytest.mark.parametrize(
    ("own", "outer", "operator"),
    [
        (11, 17, "Softmax"),
        (17, 11, "Softmax"),
        (11, 13, "ReduceSum"),
        (18, 21, "GroupNormalization"),
    ],
)
def test_a_function_whose_operators_mean_something_else_is_refused(
    tmp_path: Path, own: int, outer: int, operator: str
) -> None:
    """Softmax without an axis is of all axes from the second on before opset 13."""
    body = helper.make_node(operator, ["a"], ["b"])
    with pytest.raises(GraphError, match=rf"function f is of opset {own} .* its {operator} is an"):
        read_back(tmp_path, with_function(own, outer, body))


def test_a_function_that_takes_a_domain_which_the_model_does_not(tmp_path: Path) -> None:
    model = with_function(17, 17, helper.make_node("Neg", ["a"], ["b"]))
    model.functions[0].opset_import.append(helper.make_opsetid("elsewhere", 3))
    np.testing.assert_allclose(computed(tmp_path, model), -X)


# -- sparse constants -------------------------------------------------------------------------


def sparse_tensor(places: Any, shape: tuple[int, ...], name: str = "s") -> onnx.SparseTensorProto:
    places = np.asarray(places, np.int64)
    values = np.arange(1, len(places) + 1, dtype=np.float32)
    return helper.make_sparse_tensor(
        numpy_helper.from_array(values, name), numpy_helper.from_array(places, "at"), shape
    )


@pytest.mark.parametrize(
    ("places", "dense"),
    [
        ([1, 5, 6], [[0, 1, 0, 0], [0, 2, 3, 0], [0, 0, 0, 0]]),
        ([[0, 3], [2, 0]], [[0, 0, 0, 1], [0, 0, 0, 0], [2, 0, 0, 0]]),
        ([], np.zeros((3, 4))),
    ],
)
@pytest.mark.parametrize("of_node", [True, False])
def test_a_sparse_constant_is_a_dense_one(
    tmp_path: Path, places: Any, dense: Any, of_node: bool
) -> None:
    m = Maker()
    x, held = m.input("x", X.shape), "s"
    if of_node:
        held = m.add("Constant", sparse_value=sparse_tensor(places, (3, 4)))
    model = m.model(m.add("Add", x, held))
    if not of_node:
        model.graph.sparse_initializer.append(sparse_tensor(places, (3, 4)))
    np.testing.assert_allclose(computed(tmp_path, model), X + np.asarray(dense, np.float32))


@pytest.mark.parametrize(
    ("places", "shape", "why"),
    [
        ([12], (3, 4), "has indices that do not fit"),
        ([-1], (3, 4), "has indices that do not fit"),
        ([[0, 4]], (3, 4), "has indices that do not fit"),
        ([0], (1 << 20, 1 << 20), "may have 256 MiB as dense ones"),
        ([0], (1,) * 70, "may have 256 MiB as dense ones"),
    ],
)
def test_a_sparse_constant_that_does_not_fit(
    tmp_path: Path, places: Any, shape: tuple[int, ...], why: str
) -> None:
    m = Maker()
    held = m.add("Constant", sparse_value=sparse_tensor(places, shape))
    with pytest.raises(GraphError, match=why):
        read_back(tmp_path, m.model(m.add("Add", m.input("x", X.shape), held)))


def test_sparse_constants_are_limited_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse, "MOST_DENSE", 100)
    m = Maker()
    x = m.input("x", X.shape)
    for _ in range(3):
        x = m.add("Add", x, m.add("Constant", sparse_value=sparse_tensor([1], (3, 4))))
    with pytest.raises(GraphError, match=r"sparse constant constant4_0 has the shape 3x4"):
        read_back(tmp_path, m.model(x))
