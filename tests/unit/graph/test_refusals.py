"""A refusal names the node or the tensor, says why, and what the user can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx
from onnx import TensorProto as T
from onnx import helper

from kgen.errors import GraphError
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading.element_types import WIDENED
from kgen.graph.reading.importer import imported
from kgen.graph.reading.messages import listed, shortened
from tests.onnx_models import Maker


def refusal(model: onnx.ModelProto) -> str:
    with pytest.raises(GraphError) as caught:
        graph_of(imported(model, {}, OPERATORS))
    message = str(caught.value)
    assert len(message) <= 500 and "\n" not in message
    return message


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (T.STRING, "turn text into numbers outside of the model"),
        (T.INT4, "make it INT8"),
        (T.UINT64, "make it INT32, or INT64 if its values need that"),
        (T.UINT4, "make it UINT8"),
        (T.FLOAT4E2M1, "make it FLOAT or FLOAT16"),
        (T.COMPLEX64, "make real and imaginary parts two tensors of FLOAT"),
        (999, "make it one of ONNX's types of tensors"),
    ],
)
def test_types_that_no_kernel_takes(kind: int, remedy: str) -> None:
    m = Maker()
    x = m.input("x", (3,), kind)
    name = T.DataType.Name(kind) if kind != 999 else "type 999"
    expected = f"is of {name}, which kernels do not support; {remedy}"
    assert refusal(m.model(m.add("Identity", x))) == f"input x {expected}"
    if kind not in (T.STRING, T.COMPLEX64, 999):
        m = Maker(opset=23)
        made = m.add("Cast", m.input("x", (3,)), to=kind)
        who = f"output {made}" if kind in WIDENED else f"node /Cast0 (Cast) makes {made}, which"
        assert refusal(m.model(made)) == f"{who} {expected}"


def test_constants_of_a_type_that_no_kernel_takes() -> None:
    m = Maker()
    added = m.add("Add", m.input("x", (3,)), m.constant([1, 2, 3], np.uint32))
    model = m.model(added)
    model.graph.node[0].op_type = "Where"  # takes its inputs of any type
    del model.graph.node[0].input[:]
    model.graph.node[0].input.extend(["b", "c0", "c0"])
    model.graph.input.append(helper.make_tensor_value_info("b", T.BOOL, [3]))
    assert "is of UINT32, which kernels do not support; make it INT32" in refusal(model)


@pytest.mark.parametrize("kind", ["sequence", "optional"])
def test_inputs_that_are_no_tensors(kind: str) -> None:
    m = Maker()
    model = m.model(m.add("Identity", m.input("x", (3,))))
    tensor = helper.make_tensor_type_proto(T.FLOAT, [3])
    make = {
        "sequence": helper.make_sequence_type_proto,
        "optional": helper.make_optional_type_proto,
    }
    model.graph.input[0].type.CopyFrom(make[kind](tensor))
    expected = f"input x is of type {kind}, and kgen supports tensors only; make each tensor in it"
    assert expected in refusal(model)


def by_data(operator: str, *shapes: tuple[int, ...], **attributes: Any) -> Callable[[], str]:
    """Return the refusal of a node whose second and later inputs are integer inputs of the
    model."""

    def make() -> str:
        m = Maker()
        names = [m.input("x", shapes[0])]
        names += [m.input(f"i{n}", shape, T.INT64) for n, shape in enumerate(shapes[1:])]
        return refusal(m.model(m.add(operator, *names, **attributes)))

    return make


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (by_data("Reshape", (6,), (2,)), "i0"),
        (by_data("Expand", (6,), (2,)), "i0"),
        (by_data("Tile", (6,), (1,)), "i0"),
        (by_data("Slice", (6,), (1,), (1,)), "i0, i1"),
    ],
)
def test_shapes_that_a_constant_would_fix(make: Callable[[], str], names: str) -> None:
    message = make()
    assert f"depends on the values of {names}; make what decides the shape an init" in message
    assert message.startswith("node /") and "export the model without it" not in message


def test_shapes_that_no_constant_fixes() -> None:
    m = Maker()
    weights = m.weight(1, 4, 3), m.weight(1, 4, 4)
    rnn = m.add("RNN", m.input("x", (2, 1, 3)), *weights, outputs=2)
    assert refusal(m.model(rnn[0])) == (
        f"node /RNN0 (RNN): kgen needs fixed shapes, and ONNX does not say the shape of {rnn[0]} "
        "by the node's inputs and attributes; give the attributes that it depends on, or replace "
        "the node"
    )


def test_arguments_that_only_constants_can_be() -> None:
    m = Maker()
    clipped = m.add("Pad", m.input("x", (3,)), m.constant([1, 1], np.int64), m.input("v", ()))
    found = refusal(m.model(clipped))
    assert found == (
        "node /Pad0 (Pad) computes the padding value from data; only a constant is supported; make "
        "it an initializer"
    )


def test_many_operators_make_no_long_message() -> None:
    m = Maker()
    x = m.input("x", (3,))
    for number in range(300):
        node = helper.make_node(
            f"Operator{number:03}", [x], [f"y{number}"], domain="custom.of.mine"
        )
        m.nodes.append(node)
    found = refusal(m.model(*(f"y{number}" for number in range(300))))
    assert found.startswith(
        "300 nodes have operators that kgen does not support: custom.of.mine.Operator000 (1); "
    )
    assert "more operators; kgen targets --operators" in found


def test_operators_of_one_cpu_name_another_way_to_save() -> None:
    """Long lists leave room for the remedy."""
    for count in (1, 40):
        m = Maker()
        x = m.input("x", (1, 16, 8, 8))
        for _ in range(count):
            x = m.add("Conv", x, m.weight(16, 16, 1, 1), domain="com.microsoft.nchwc")
        message = refusal(m.model(x))
        assert "com.microsoft.nchwc.Conv" in message and len(message) <= 500
        assert message.endswith("or save it with graph_optimization_level=ORT_ENABLE_EXTENDED")


def test_operators_with_many_nodes_are_all_counted() -> None:
    """Names of nodes are cut so that all operators are named."""
    m = Maker()
    x = m.input("x", (3,))
    made = []
    for number, count in enumerate((40, 1, 300, 2)):
        for i in range(count):
            made.append(f"y{number}_{i}")
            name = f"/layer.{i}/{'attention/' * 3}{number}"
            node = helper.make_node(f"Op{number}", [x], made[-1:], name=name, domain="of.mine")
            m.nodes.append(node)
    found = refusal(m.model(*made))
    words = found.partition("support: ")[2].partition("; kgen targets")[0].split("; ")
    assert [word.partition(":")[0] for word in words] == [
        "of.mine.Op2 (300)", "of.mine.Op0 (40)", "of.mine.Op3 (2)", "of.mine.Op1",
    ]  # fmt: skip
    assert len(found) <= 500


def test_lists_and_quotations_are_bounded() -> None:
    assert listed(["a", "b"], "nodes") == "a; b"
    assert (
        listed(["a" * 200, "b" * 50, "c" * 50], "nodes")
        == f"{'a' * 200}; {'b' * 50}; and 1 more nodes"
    )
    assert listed(["a" * 1000, "b"], "nodes") == "a" * 260 + "...; and 1 more nodes"
    assert shortened(ValueError("two\n  lines")) == "two lines"
    assert shortened("x" * 1000) == "x" * 160 + "..."
