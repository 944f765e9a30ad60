"""Operators of opset 1 to 6, functions of another opset than the model's, and sparse constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from kgen.check.model.truth import evaluator
from kgen.errors import GraphError
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading import onnx_file
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
    """Return a model's output by its calls, after a check against the verification's
    definitions."""
    proto = read_back(tmp_path, model)
    calls = lower(fuse(graph_of(imported(proto, {}, OPERATORS))))
    (found,) = run(calls, {"x": x}).values()
    (other,) = evaluator(proto).run(None, {"x": x})
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
    """Two operators of one kind have different constants."""
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


# -- inputs that became attributes ------------------------------------------------------------


@pytest.mark.parametrize("of_node", [True, False])
@pytest.mark.parametrize("axis", [0, 2, 3])
def test_a_tile_of_a_number_along_an_axis(tmp_path: Path, axis: int, of_node: bool) -> None:
    m = Maker(opset=1)
    x = m.input("x", X.shape)
    numbers = [m.constant(3.0), m.constant([float(axis)])]
    if of_node:
        values = [numpy_helper.from_array(m.constants.pop(name), name) for name in numbers]
        numbers = [m.add("Constant", value=value) for value in values]
    found = computed(tmp_path, m.model(m.add("Tile", x, *numbers)))
    np.testing.assert_array_equal(found, np.concatenate([X, X, X], axis))


@pytest.mark.parametrize(
    ("tiles", "axis", "why"),
    [
        (None, 0.0, "its tiles t is not a constant"),
        (0.0, 0.0, "it makes 0 copies; 1 to 1024 are the limits"),
        (1e9, 0.0, "it makes 1000000000 copies; 1 to 1024 are the limits"),
        (1.5, 0.0, "is not an integer"),
        (np.nan, 0.0, "is not an integer"),
        ([2.0, 2.0], 0.0, "its tiles and its axis are not one number each"),
        (2.0, None, "it has no axis"),
    ],
)
def test_a_tile_of_opset_1_that_is_refused(
    tmp_path: Path, tiles: Any, axis: float | None, why: str
) -> None:
    m = Maker(opset=1)
    x = m.input("x", X.shape)
    count = m.input("t", ()) if tiles is None else m.constant(tiles)
    y = m.add("Tile", x, count, *([] if axis is None else [m.constant(axis)]))
    with pytest.raises(GraphError, match=why):
        read_back(tmp_path, m.model(y))


def test_numbers_of_an_old_operator_in_another_file(tmp_path: Path) -> None:
    """An external constant is read after the check of its path."""
    m = Maker(opset=1)
    model = m.model(m.add("Tile", m.input("x", X.shape), m.constant(2.0), m.constant(0.0)))
    tensor = model.graph.initializer[0]
    (tmp_path / "beside").write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = T.EXTERNAL
    tensor.external_data.add(key="location", value="beside")
    np.testing.assert_array_equal(
        computed(tmp_path, model).reshape(2 * len(X), -1), np.tile(X.reshape(len(X), -1), (2, 1))
    )
    tensor.external_data[0].value = "/etc/hostname"
    with pytest.raises(GraphError, match="data of c0 are in '/etc/hostname', outside of the model"):
        read_back(tmp_path, model)


@pytest.mark.parametrize(("axis", "sizes"), [(3, [1, 3]), (2, [1, 2]), (1, None)])
def test_a_split_by_sizes_that_are_an_input(
    tmp_path: Path, axis: int, sizes: list[int] | None
) -> None:
    m = Maker(opset=1)
    x = m.input("x", X.shape)
    given = [] if sizes is None else [m.constant(sizes)]
    first, second = m.add("Split", x, *given, outputs=2, axis=axis)
    places = [sizes[0] if sizes else X.shape[axis] // 2]
    for result, expected in zip((first, second), np.split(X, places, axis), strict=True):
        np.testing.assert_array_equal(computed(tmp_path, m.model(result)), expected)


def test_a_split_by_sizes_that_are_computed_is_refused(tmp_path: Path) -> None:
    m = Maker(opset=1)
    x, sizes = m.input("x", X.shape), m.input("sizes", (2,))
    first, _ = m.add("Split", x, sizes, outputs=2, axis=3)
    with pytest.raises(GraphError, match="its split sizes is not a constant"):
        read_back(tmp_path, m.model(first))


def test_an_operator_that_no_opset_of_kgen_has(tmp_path: Path) -> None:
    m = Maker(opset=1)
    x, regions = m.input("x", X.shape), m.constant(np.zeros((1, 5), np.float32))
    found = m.add("MaxRoiPool", x, regions, pooled_shape=[2, 2])
    with pytest.raises(
        GraphError, match="operator that kgen does not support: MaxRoiPool: /MaxRoiPool0;"
    ):
        imported(read_back(tmp_path, m.model(found)), {}, OPERATORS)


def test_a_norm_of_everything(tmp_path: Path) -> None:
    m = Maker(opset=1)
    found = m.add("GlobalLpPool", m.input("x", X.shape))
    expected = np.sqrt((X**2).sum((2, 3), keepdims=True))
    np.testing.assert_allclose(computed(tmp_path, m.model(found)), expected, rtol=1e-5)


# -- operands that broadcast by attributes ----------------------------------------------------

FIRST = (np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5) - 50.5) / 8
#: Shapes of the second operand, an axis, and the shape that numpy broadcasts it from.
BROADCAST: dict[str, tuple[tuple[int, ...], int | None, tuple[int, ...]]] = {
    "a number": ((), None, ()),
    "one element": ((1, 1), None, ()),
    "one element, with an axis": ((1,), 1, ()),
    "the last axis": ((5,), None, (5,)),
    "the last axes": ((4, 5), None, (4, 5)),
    "the last axis by name": ((5,), 3, (5,)),
    "axes in the middle": ((3, 4), 1, (3, 4, 1)),
    "the first axis": ((2,), 0, (2, 1, 1, 1)),
    "channels": ((3,), 1, (3, 1, 1)),
    "all axes": ((2, 3, 4, 5), 0, (2, 3, 4, 5)),
}
BINARY: dict[str, Any] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Pow": lambda a, b: np.abs(a) ** b, "And": np.logical_and, "Or": np.logical_or,
    "Xor": np.logical_xor, "Equal": np.equal, "Greater": np.greater, "Less": np.less,
}  # fmt: skip


def operands(operator: str, shape: tuple[int, ...]) -> tuple[Array, Array, int]:
    """Return both operands of an operator, and the type of its result."""
    second = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 + 1).astype(np.float32) / 2
    if operator in ("And", "Or", "Xor"):
        return FIRST > 1, second > 2, T.BOOL
    if operator == "Equal":
        return np.trunc(FIRST).astype(np.int32), np.trunc(second).astype(np.int32), T.BOOL
    if operator == "Pow":
        return np.abs(FIRST), second, T.FLOAT
    return FIRST, second, T.BOOL if operator in ("Greater", "Less") else T.FLOAT


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("case", BROADCAST)
@pytest.mark.parametrize("operator", BINARY)
def test_operands_that_broadcast_by_attributes(
    tmp_path: Path, operator: str, case: str, is_constant: bool
) -> None:
    """Both operands constant: the result is computed on reading."""
    shape, axis, by_numpy = BROADCAST[case]
    a, b, kind = operands(operator, shape)
    m = Maker(opset=1 + 5 * (len(shape) % 2))
    dtype = helper.np_dtype_to_tensor_dtype(a.dtype)
    x = m.constant(a, a.dtype) if is_constant else m.input("x", a.shape, dtype)
    attributes = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
    y = m.add(operator, x, m.constant(b, b.dtype), **attributes)
    model = m.model(y, dtype=kind)
    expected = BINARY[operator](a, b.reshape(by_numpy))
    if is_constant:
        model_read = imported(read_back(tmp_path, model), {}, OPERATORS)
        assert not model_read.nodes
        found = model_read.constants[y]
    else:
        found = computed(tmp_path, model, a)
    np.testing.assert_allclose(found.astype(expected.dtype), expected, rtol=2e-6)


def test_two_axes_of_one_length_are_told_apart(tmp_path: Path) -> None:
    """numpy's broadcasting would take the slope of columns for the slope of rows."""
    a, b = FIRST[0, :3, :3, 0], np.array([1, 2, 3], np.float32)
    for axis, expected in ((0, a * b[:, None]), (1, a * b), (None, a * b)):
        m = Maker(opset=6)
        attributes = {} if axis is None else {"axis": axis}
        y = m.add("Mul", m.input("x", a.shape), m.constant(b), broadcast=1, **attributes)
        np.testing.assert_allclose(computed(tmp_path, m.model(y), a.copy()), expected)


@pytest.mark.parametrize(
    ("shape", "attributes", "why"),
    [
        ((5,), {}, "has inputs of shape 2x3x4x5 and 5 without broadcast=1; set broadcast=1"),
        ((3,), {"axis": 1}, "without broadcast=1"),
        ((4,), {"broadcast": 1}, "has a second input of shape 4, which does not broadcast to"),
        ((3,), {"broadcast": 1, "axis": 2}, "has a second input of shape 3x1, which does not"),
        ((3, 4), {"broadcast": 1, "axis": 3}, "has axis=3 for inputs of shape 2x3x4x5 and 3x4; 0"),
        ((5,), {"broadcast": 1, "axis": -1}, "has axis=-1 .*; 0 to 3 are the limits"),
        ((1, 2, 3, 4, 5), {"broadcast": 1, "axis": 0}, "a second input of shape 1x2x3x4x5, which"),
    ],
)
def test_operands_that_do_not_broadcast_by_their_attributes(
    tmp_path: Path, shape: tuple[int, ...], attributes: dict[str, int], why: str
) -> None:
    m = Maker(opset=6)
    y = m.add("Add", m.input("x", FIRST.shape), m.constant(np.ones(shape)), **attributes)
    proto = read_back(tmp_path, m.model(y))
    with pytest.raises(GraphError, match=why) as caught:
        lower(fuse(graph_of(imported(proto, {}, OPERATORS))))
    assert "/Add0 (Add)" in str(caught.value)


# -- functions of another opset ---------------------------------------------------------------


def with_function(own: int, outer: int, *nodes: onnx.NodeProto) -> onnx.ModelProto:
    """Return a model with one function from `a` to `b`; model and function have an opset each."""
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


def softmax(x: Array, axes: tuple[int, ...]) -> Array:
    powers = np.exp(x)
    return np.asarray(powers / powers.sum(axis=axes, keepdims=True))


#: A function's nodes, its opset and the model's, and what the function computes.
OF_OTHER_OPSETS: dict[str, tuple[list[onnx.NodeProto], int, int, Any]] = {
    "Softmax-11": (
        [helper.make_node("Softmax", ["a"], ["b"])], 11, 17, lambda x: softmax(x, (1, 2, 3))
    ),
    "Softmax-17": (
        [helper.make_node("Softmax", ["a"], ["b"])], 17, 11, lambda x: softmax(x, (3,))
    ),
    "ReduceSum-11": (
        [helper.make_node("ReduceSum", ["a"], ["b"], axes=[1])], 11, 13,
        lambda x: x.sum(axis=1, keepdims=True),
    ),
    "Unsqueeze-11, not needed": (
        [
            helper.make_node("Unsqueeze", ["a"], ["c"], axes=[0]),
            helper.make_node("Mystery", ["a"], ["d"]),
            helper.make_node("Squeeze", ["c"], ["b"], axes=[0]),
        ], 11, 17, lambda x: x,
    ),
    "Reshape-1": (
        [
            helper.make_node("Reshape", ["a"], ["c"], shape=[0, -1, 4]),
            helper.make_node("Softmax", ["c"], ["b"]),
        ], 1, 17, lambda x: softmax(x.reshape(1, 6, 4), (1, 2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_OTHER_OPSETS)
def test_a_function_whose_operators_mean_something_else(tmp_path: Path, name: str) -> None:
    """Before opset 13, Softmax without an axis covers all axes from the second on."""
    nodes, own, outer, expected = OF_OTHER_OPSETS[name]
    if "Mystery" in {node.op_type for node in nodes}:
        proto = read_back(tmp_path, with_function(own, outer, *nodes))
        calls = lower(fuse(graph_of(imported(proto, {}, OPERATORS))))
        found = run(calls, {"x": X})["y"].reshape(X.shape)
    else:
        found = computed(tmp_path, with_function(own, outer, *nodes))
    np.testing.assert_allclose(found, expected(X), rtol=1e-6)


def test_functions_of_another_opset_call_and_are_called(tmp_path: Path) -> None:
    """Functions of two opsets call each other; the file lists them in no order."""
    model = with_function(17, 17, helper.make_node("old", ["a"], ["b"], domain="own"))
    first = model.functions[0]
    inner = helper.make_node("new", ["s"], ["b"], domain="own")
    old = [helper.make_node("Softmax", ["a"], ["s"]), inner]
    new = [helper.make_node("Neg", ["a"], ["b"])]
    del model.functions[:]
    for name, nodes, opset in (("old", old, 11), ("new", new, 17)):
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
        model.functions.append(helper.make_function("own", name, ["a"], ["b"], nodes, imports))
    first.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(first)
    np.testing.assert_allclose(computed(tmp_path, model), -softmax(X, (1, 2, 3)), rtol=1e-6)
    assert [f.name for f in read_back(tmp_path, model).functions] == ["new", "old"]


def test_an_overload_of_another_opset_is_refused(tmp_path: Path) -> None:
    model = with_function(11, 17, helper.make_node("Softmax", ["a"], ["b"]))
    model.functions[0].overload = model.graph.node[0].overload = "of11"
    with pytest.raises(GraphError, match="function f of own has the overload of11, and an oper"):
        read_back(tmp_path, model)


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
    monkeypatch.setattr(onnx_file, "MOST_DENSE", 100)
    m = Maker()
    x = m.input("x", X.shape)
    for _ in range(3):
        x = m.add("Add", x, m.add("Constant", sparse_value=sparse_tensor([1], (3, 4))))
    with pytest.raises(GraphError, match=r"sparse constant constant4_0 has the shape 3x4"):
        read_back(tmp_path, m.model(x))
