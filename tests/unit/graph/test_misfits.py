"""Inputs and attributes that contradict ONNX's text are refused when the graph is built."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from kgen.errors import GraphError
from kgen.graph.ir import Builder, FormulaNode
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading.importer import imported
from kgen.graph.reading.model import Node
from kgen.graph.rewrites.normalizations import folded
from kgen.ops.expression import variable
from kgen_runtime.dtypes import DType
from tests.onnx_models import Maker

Make = Callable[[Maker], str]


def node(operator: str, x: tuple[int, ...], *given: Any, outputs: int = 1, **more: Any) -> Make:
    """Return a function that makes one node. A tuple is the shape of an input, a list a constant of
    integers, an array itself, None a missing input."""

    def make(m: Maker) -> str:
        names = [m.input("x", x)]
        for number, value in enumerate(given):
            if value is None:
                names.append("")
            elif isinstance(value, tuple):
                names.append(m.input(f"i{number}", value))
            else:
                is_list = isinstance(value, list)
                names.append(m.constant(value, np.int64 if is_list else value.dtype))
        made = m.add(operator, *names, outputs=outputs, **more)
        return str(made if outputs == 1 else made[0])

    return make


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def varied(*shape: int) -> Any:
    """Return different numbers, which cannot become one constant of a formula."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def built(make: Make, opset: int = 17) -> None:
    m = Maker(opset)
    model = m.model(make(m))
    graph_of(folded(imported(model, {}, OPERATORS)))


#: Inputs that do not fit the result: a fault that read past the end of a buffer, or was cut.
SHAPES: dict[str, tuple[Make, str]] = {
    "Gemm, C of 4 for N = 5": (node("Gemm", (3, 2), (2, 5), (4,)), "has C of shape 4"),
    "Gemm, constant C": (node("Gemm", (3, 2), ones(2, 5), varied(4)), "has C of shape 4"),
    "Gemm, C of one value": (node("Gemm", (3, 2), ones(2, 5), ones(4)), "has C of shape 4"),
    "Gemm, C wider than N = 1": (node("Gemm", (3, 2), (2, 1), (1, 4)), "has C of shape 1x4"),
    "Gemm, rank 3": (node("Gemm", (3, 2, 2), (2, 5)), "Gemm"),
    "Clip, min of 4 for 3": (node("Clip", (2, 3), (4,)), "has min of shape 4"),
    "Clip, min of 3 for 3": (node("Clip", (2, 3), (3,)), "has min of shape 3"),
    "Clip, constant max": (node("Clip", (2, 3), None, varied(3)), "has max of shape 3"),
    "PRelu, larger slope": (node("PRelu", (3, 1), (3, 4)), "has a slope of shape 3x4"),
    "PRelu, slope of more axes": (node("PRelu", (3,), (2, 3)), "has a slope of shape 2x3"),
    "Conv, bias of 3 for 5": (node("Conv", (1, 2, 4, 4), (5, 2, 1, 1), (3,)), "a bias of shape 3"),
    "Conv, bias of two axes": (
        node("Conv", (1, 2, 4, 4), ones(4, 2, 1, 1), varied(4, 1)),
        "a bias of shape 4x1",
    ),
    "Conv, weights of rank 3": (node("Conv", (1, 2, 4, 4), ones(4, 2, 1)), "Conv"),
    "ConvTranspose, bias": (
        node("ConvTranspose", (1, 2, 4), ones(2, 3, 2), varied(2)),
        "a bias of shape 2",
    ),
    "ConvTranspose, channels": (node("ConvTranspose", (1, 2, 4), ones(3, 3, 2)), "2 channels"),
    "BatchNormalization, mean": (
        node("BatchNormalization", (2, 3), ones(3), ones(3), varied(2), ones(3)),
        r"\(BatchNormalization\) does not fit its inputs",
    ),
    "BatchNormalization by element": (
        node("BatchNormalization", (2, 3, 2), *[varied(3, 2)] * 4),
        r"\(BatchNormalization\) does not fit its inputs",
    ),
    "InstanceNormalization": (
        node("InstanceNormalization", (2, 3, 4), (4,), (3,)),
        "has scale of shape 4; ONNX requires 3",
    ),
    "LayerNormalization, scale": (
        node("LayerNormalization", (2, 1), (4,)),
        "has Scale of shape 4",
    ),
    "Einsum": (node("Einsum", (2, 3), (4, 5), equation="ij,jk->ik"), "along j"),
    "ScatterElements, index": (
        node("ScatterElements", (3, 3), np.zeros((2, 5), np.int64), (2, 5)),
        "has indices of shape 2x5 for 3x3",
    ),
    "ScatterElements, updates": (
        node("ScatterElements", (3, 3), np.zeros((2, 3), np.int64), (3, 2)),
        "has updates of shape 3x2",
    ),
    "ScatterElements, a place that is not there": (
        node("ScatterElements", (3, 3), np.full((1, 1), 3), (1, 1)),
        "outside of an axis of 3 elements",
    ),
    "ScatterND, updates": (
        node("ScatterND", (4, 4), [[0], [2]], (1, 8)),
        "has updates of shape 1x8; ONNX requires 2x4",
    ),
    "ScatterND, depth": (node("ScatterND", (4,), [[0, 1]], (1,)), "indices of 2 numbers"),
    "GatherND, depth": (node("GatherND", (4,), [[0, 1]]), "GatherND"),
    "LSTM, R": (
        node("LSTM", (2, 1, 3), ones(1, 16, 3), ones(1, 16, 5), hidden_size=4),
        "has R of shape 1x16x5; ONNX requires 1x16x4",
    ),
    "GRU, B": (
        node("GRU", (2, 1, 3), ones(1, 12, 3), ones(1, 12, 4), ones(2, 24), hidden_size=4),
        "has B of shape 2x24; ONNX requires 1x24",
    ),
    "RNN, W of another direction": (
        node(
            "RNN", (2, 1, 3), ones(1, 4, 3), ones(1, 4, 4), hidden_size=4, direction="bidirectional"
        ),
        "has W of shape 1x4x3; ONNX requires 2x4x3",
    ),
    "RNN, initial state": (
        node("RNN", (2, 1, 3), ones(1, 4, 3), ones(1, 4, 4), None, None, (2, 1, 4), hidden_size=4),
        "has initial_h of shape 2x1x4",
    ),
    "Pad, two values": (node("Pad", (3,), [1, 1], varied(2)), "pads with 2 numbers"),
    "ReduceSum, a table of axes": (
        node("ReduceSum", (3, 4), [[0, 1]]),
        "has axes of shape 1x2; ONNX requires a list",
    ),
    "Split, sizes": (node("Split", (6,), [2, 3], outputs=2), "Split"),
    "DepthToSpace": (node("DepthToSpace", (1, 6, 2, 2), blocksize=2), "6 channels"),
    "pool, a window over more than there is": (
        node("MaxPool", (1, 1, 1, 4), kernel_shape=[3, 1], strides=[2, 1], ceil_mode=1),
        "has a window that spans 3 elements; 1 is the limit",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_do_not_fit(name: str) -> None:
    make, why = SHAPES[name]
    with pytest.raises(GraphError, match=why) as caught:
        built(make)
    assert name.split(",")[0].split(" ")[0] in str(caught.value) or "pool" in name
    assert len(str(caught.value)) <= 500
    assert "; " in str(caught.value), "no remedy"


AXES = [
    *((operator, {"axis": axis}) for operator in ("Softmax", "LogSoftmax") for axis in (2, -3, 5)),
    *((operator, {"axis": 5}) for operator in ("ArgMax", "ArgMin")),
    ("ReduceMean", {"axes": [2]}),
    ("ReduceMean", {"axes": [-3, 0]}),
    ("ReduceMean", {"axes": [0, -2]}),
]


@pytest.mark.parametrize(("operator", "attributes"), AXES)
def test_axes_that_are_not_there(operator: str, attributes: dict[str, Any]) -> None:
    with pytest.raises(GraphError, match=operator):
        built(node(operator, (2, 3), **attributes))


@pytest.mark.parametrize("operator", ["LayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize("axis", [5, 2, -3])
def test_norms_along_axes_that_are_not_there(operator: str, axis: int) -> None:
    opset = 23 if operator == "RMSNormalization" else 17
    with pytest.raises(
        GraphError,
        match=rf"{operator}.*(axis={axis} for 2 axes; -2 to 1 are the limits|Unexpected axis)",
    ):
        built(node(operator, (2, 3), ones(3), axis=axis), opset)


@pytest.mark.parametrize("axes", [[2], [0, 1]])
def test_sums_up_along_axes_that_are_not_there(axes: list[int]) -> None:
    with pytest.raises(GraphError, match="CumSum"):
        built(node("CumSum", (2, 3), axes))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            node("Gelu", (3,), approximate="tan"),
            "has approximate=tan; only none, tanh are supported",
        ),
        (node("MaxPool", (1, 1, 4), kernel_shape=[2], auto_pad="SAME"), "auto_pad=SAME;"),
        (
            node("MaxPool", (1, 1, 4), kernel_shape=[2], ceil_mode=2),
            "ceil_mode=2; ONNX requires 0 or",
        ),
        (node("ReduceMean", (2, 3), keepdims=2), "has keepdims=2; ONNX requires 0 or 1"),
        (node("DepthToSpace", (1, 4, 2, 2), blocksize=2, mode="RCD"), "has mode=RCD"),
        (
            node("ConvTranspose", (1, 2, 4), ones(2, 3, 2), strides=[2], output_padding=[2]),
            "has output_padding=2",
        ),
    ],
)
def test_attributes_of_unknown_values(make: Make, why: str) -> None:
    with pytest.raises(GraphError, match=why):
        built(make, 20)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (node("Split", (6,), outputs=3, num_outputs=2), "has num_outputs=2 and 3 results"),
        (node("GatherND", (2, 3), [[0], [1]], batch_dims=-7), "has batch_dims=-7"),
    ],
)
def test_numbers_that_end_the_process_in_onnx(make: Make, why: str) -> None:
    """ONNX's shape inference indexes a vector by these numbers without a check, which aborts a
    hardened build."""
    with pytest.raises(GraphError, match=why):
        built(make, 18)


def test_a_formula_whose_operand_does_not_fit_is_refused_in_one_place() -> None:
    b = Builder({})
    x, y = b.input("x", (3, 5), DType.F32), b.input("y", (4,), DType.F32)
    misfit = FormulaNode(expression=b.call("add", x, y))
    with pytest.raises(GraphError, match=r"^node a, c has inputs .*; correct the shape in the"):
        b.add(misfit, (3, 5), DType.F32, nodes=("a", "c"))  # a rewrite: no node is being lowered
    b.node = Node(name="n", operator="Made", inputs=(), outputs=("z",), attributes={}, opset=17)
    for expression in (b.call("add", x, y), variable(y.id)):
        with pytest.raises(GraphError, match=r"node n \(Made\) has inputs"):
            b.formula(expression, (3, 5), DType.F32)
    with pytest.raises(GraphError, match=r"node n \(Made\) has inputs"):
        b.add(FormulaNode(expression=b.call("sum", x), axes=(1,)), (1, 1), DType.F32)
    with pytest.raises(GraphError, match="does not broadcast to 3x5"):
        b.expand(y, (3, 5))
    for start, count, step in ((-1, 2, 1), (3, 2, 1), (0, 3, 2), (0, 0, 1)):
        with pytest.raises(GraphError, match="of the 4 of axis 0"):
            b.slice(y, 0, start, count, step)


def test_windows_of_valid_pads_ignore_pads() -> None:
    """ONNX takes no pads beside auto_pad=VALID; its inference ignores them too."""
    built(node("MaxPool", (1, 1, 4), kernel_shape=[2], auto_pad="VALID", pads=[1, 1]))


def test_faults_of_kgen_are_not_reported_as_faults_of_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> Any:
        raise AssertionError("no term")

    monkeypatch.setitem(OPERATORS, "Relu", dataclasses.replace(OPERATORS["Relu"], lower=fails))
    with pytest.raises(AssertionError, match="no term"):
        built(node("Relu", (2, 3)))


def test_inputs_that_fit() -> None:
    """Shapes at the limits of what ONNX allows."""
    built(node("Gemm", (3, 2), (2, 5), (3, 1)))
    built(node("Gemm", (3, 2), (2, 5), ()))
    built(node("Clip", (2, 3), (1,), ()))
    built(node("PRelu", (2, 3, 4), (3, 1)))
    built(node("LayerNormalization", (2, 3), (1, 3), (3,), axis=-2))
    built(node("MaxPool", (1, 1, 2), kernel_shape=[3], strides=[2], ceil_mode=1))
