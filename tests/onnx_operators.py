"""Small models of operators over windows, positions and time steps, for tests on all targets.
Each has formulas before and after the operator, so that both are fused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.onnx_models import Maker

Make = Callable[[Maker], str]


def pool(operator: str, size: Sequence[int], shape: Sequence[int], **attributes: Any) -> Make:
    def make(m: Maker) -> str:
        x = m.add("Tanh", m.input("x", shape))
        return str(m.add("Neg", m.add(operator, x, kernel_shape=size, **attributes)))

    return make


def conv(shape: Sequence[int], *weights: int, group: int = 1, **attributes: Any) -> Make:
    def make(m: Maker) -> str:
        x = m.add("Relu", m.input("x", shape))
        y = m.add("Conv", x, m.weight(*weights), m.weight(weights[0]), group=group, **attributes)
        return str(m.add("HardSwish", y))

    return make


def transposed(shape: Sequence[int], *weights: int, group: int = 1, **attributes: Any) -> Make:
    def make(m: Maker) -> str:
        w, bias = m.weight(*weights), m.weight(weights[1] * group)
        y = m.add("ConvTranspose", m.input("x", shape), w, bias, group=group, **attributes)
        return str(m.add("Relu", y))

    return make


def block(m: Maker) -> str:
    """Return a block of a mobile network: a 1x1 and a depthwise convolution, a gate from the
    image's mean, a 1x1 convolution, and the input as residual."""
    x = m.input("x", (1, 4, 5, 7))

    def normal(x: str, n: int) -> str:
        given = [m.constant(np.abs(m.rng.standard_normal(n)) + 0.3) for _ in range(4)]
        return str(m.add("BatchNormalization", x, *given))

    y = m.add("HardSwish", normal(m.add("Conv", x, m.weight(8, 4, 1, 1)), 8))
    y = m.add("Conv", y, m.weight(8, 1, 3, 3), group=8, pads=[1] * 4)
    y = m.add("Relu", normal(y, 8))
    gate = m.add("GlobalAveragePool", y)
    gate = m.add("Relu", m.add("Conv", gate, m.weight(2, 8, 1, 1), m.weight(2)))
    gate = m.add("Conv", gate, m.weight(8, 2, 1, 1), m.weight(8))
    y = m.add("Mul", y, m.add("HardSigmoid", gate))
    y = normal(m.add("Conv", y, m.weight(4, 8, 1, 1)), 4)
    y = m.add("Add", x, y)
    both = m.add("Concat", m.add("MaxPool", y, kernel_shape=[2, 2]), m.add(
        "Slice", y, *(m.constant(v, np.int64) for v in ([0, 0], [4, 6], [2, 3]))
    ), axis=1)  # fmt: skip
    return str(m.add("Squeeze", m.add("ReduceMax", both, axes=[2]), m.constant([2], np.int64)))


def resize(
    shape: Sequence[int], scales: Sequence[float] = (), sizes: Sequence[int] = (), **attributes: Any
) -> Make:
    def make(m: Maker) -> str:
        x = m.add("Conv", m.input("x", shape), m.weight(3, shape[1], 1, 1))
        given = ["", m.constant(scales)] if scales else ["", "", m.constant(sizes, np.int64)]
        return str(m.add("Relu", m.add("Resize", x, *given, **attributes)))

    return make


def upsample(m: Maker) -> str:
    m.opset = 9
    return str(m.add("Upsample", m.input("x", (1, 2, 3, 4)), m.constant([1, 1, 3, 1])))


def padded(mode: str, pads: Sequence[int]) -> Make:
    def make(m: Maker) -> str:
        x = m.add("Exp", m.input("x", (3, 5)))
        return str(m.add("Pad", x, m.constant(pads, np.int64), mode=mode))

    return make


def recurrent(
    operator: str, gates: int, way: str = "forward", *, states: bool = False, number: int = 0,
    shape: Sequence[int] = (2, 3, 5), units: int = 4, **attributes: Any,
) -> Make:  # fmt: skip
    """Return a layer over time steps of a batch; `number` selects the output."""

    def make(m: Maker) -> str:
        count = 2 if way == "bidirectional" else 1
        x = m.input("x", shape)
        given = [m.weight(count, gates * units, 5), m.weight(count, gates * units, units)]
        given += [m.weight(count, 2 * gates * units)]
        if states:
            given += [""] + [m.weight(count, 3, units)] * (2 if operator == "LSTM" else 1)
        if states and operator == "LSTM":
            given += [m.weight(count, 3 * units)]
        found = m.add(
            operator, x, *given, outputs=3 if operator == "LSTM" else 2, hidden_size=units,
            direction=way, **attributes,
        )  # fmt: skip
        return str(m.add("Neg", found[number]))

    return make


def einsum(equation: str, shape: Sequence[int], *weights: int) -> Make:
    def make(m: Maker) -> str:
        given = [m.input("x", shape), *([m.weight(*weights)] if weights else [])]
        return str(m.add("Neg", m.add("Einsum", *given, equation=equation)))

    return make


def place(operator: str, keepdims: int) -> Make:
    def make(m: Maker) -> str:
        x = m.add("Round", m.input("x", (3, 7, 2)))
        return str(m.add("Cast", m.add(operator, x, axis=1, keepdims=keepdims), to=T.FLOAT))

    return make


def gathered_nd(constant: bool) -> Make:
    def make(m: Maker) -> str:
        x = m.input("x", (2, 3))
        if constant:
            return str(m.add("GatherND", m.add("Exp", x), m.constant([[1, 2], [0, -1]], np.int64)))
        # Places from -1 to 1 of two axes.
        at = m.add("Cast", m.add("Sign", m.add("Slice", x, *(
            m.constant(v, np.int64) for v in ([0], [2], [1])
        ))), to=T.INT64)  # fmt: skip
        return str(m.add("GatherND", m.weight(4, 5, 6), at))

    return make


def gathered_elements(constant: bool) -> Make:
    def make(m: Maker) -> str:
        x = m.input("x", (2, 3))
        if constant:
            places = m.constant([[2, -1], [0, 1]], np.int64)
            return str(m.add("GatherElements", m.add("Exp", x), places, axis=1))
        places = m.add("Cast", m.add("Sign", x), to=T.INT64)
        return str(m.add("GatherElements", m.weight(4, 3), places, axis=0))

    return make


def first_largest(m: Maker, x: str) -> str:
    """Return a position that depends on data: of the largest number of the first column."""
    column = m.add("Slice", x, *(m.constant(v, np.int64) for v in ([0], [1], [1])))
    return str(m.add("ArgMax", column, axis=0, keepdims=1))


def scattered_rows(turned: bool) -> Make:
    """Write a row at a position from data into a tensor that is also read later; or, transposed,
    a column as exporters write one."""

    def make(m: Maker) -> str:
        x = m.input("x", (5, 4))
        at = first_largest(m, x)
        y = m.add("Exp", x)
        if not turned:
            row = m.add("Neg", m.add("Gather", x, m.constant([1], np.int64)))
            return str(m.add("Add", m.add("ScatterND", y, at, row), m.add("Softmax", y)))
        row = m.add("Slice", x, *(m.constant(v, np.int64) for v in ([2], [3], [1])))
        y = m.add("ScatterND", m.add("Transpose", y), at, m.add("Transpose", row))
        return str(m.add("Transpose", y))

    return make


def scattered_elements(m: Maker) -> str:
    x = m.add("Tanh", m.input("x", (4, 6)))
    at = m.add("ArgMax", x, axis=1, keepdims=1)
    both = m.add("Concat", at, m.add("Sub", m.constant([[-1]] * 4, np.int64), at), axis=1)
    known = m.add("ScatterND", m.weight(6), m.constant([[-1], [2]], np.int64), m.weight(2))
    y = m.add("ScatterElements", x, m.add("Mod", both, m.constant(6, np.int64)), both_of(m), axis=1)
    return str(m.add("Mul", y, known))


def both_of(m: Maker) -> str:
    return str(m.add("Exp", m.weight(4, 2)))


def scattered_places(m: Maker) -> str:
    x = m.input("x", (2, 3))
    at = m.constant([[1, 2], [0, -1]], np.int64)
    return str(m.add("ScatterND", m.add("Exp", x), at, m.weight(2)))


def written_cache(**attributes: Any) -> Make:
    """Write two rows of a cache with heads first."""

    def make(m: Maker) -> str:
        x = m.input("x", (6, 4))
        at = m.add("Reshape", first_largest(m, x), m.constant([1], np.int64))
        at = m.add("Min", at, m.constant([4], np.int64))
        shown = m.add("Reshape", m.add("Exp", x), m.constant([1, 1, 6, 4], np.int64))
        cache = m.add("Concat", shown, m.add("Neg", shown), axis=1)
        return str(m.add("TensorScatter", cache, m.weight(1, 2, 2, 4), at, **attributes))

    return make


def depth(operator: str, **attributes: Any) -> Make:
    def make(m: Maker) -> str:
        shape = (2, 8, 2, 3) if operator == "DepthToSpace" else (2, 3, 4, 6)
        return str(m.add("Relu", m.add(operator, m.input("x", shape), blocksize=2, **attributes)))

    return make


def branches(m: Maker) -> str:
    """Return two nested Ifs whose conditions come from a shape; names are used twice."""
    x = m.input("x", (2, 3))
    size = m.add("Size", x)
    inner = {
        name: helper.make_graph(
            [helper.make_node("Mul", ["x", "k"], ["twice"])], name, [],
            [helper.make_tensor_value_info("twice", T.FLOAT, None)],
            [numpy_helper.from_array(np.float32(value), "k")],
        )
        for name, value in (("then_branch", 2.0), ("else_branch", 3.0))
    }  # fmt: skip
    nested = helper.make_node("If", ["small"], ["twice"], **inner)
    then = helper.make_graph(
        [helper.make_node("Less", [size, m.constant(7, np.int64)], ["small"]), nested,
         helper.make_node("Add", ["twice", "x"], ["sum"])],
        "then", [], [helper.make_tensor_value_info("sum", T.FLOAT, None)],
    )  # fmt: skip
    other = helper.make_graph([], "else", [], [helper.make_tensor_value_info("x", T.FLOAT, None)])
    condition = m.add("Greater", size, m.constant(2, np.int64))
    found = m.add("If", condition, then_branch=then, else_branch=other)
    swapped = m.add("If", m.add("Not", condition), then_branch=then, else_branch=other)
    return str(m.add("Sub", found, m.add("Neg", swapped)))


def chosen(m: Maker) -> str:
    """Return an If with a condition from data, in a branch of another one; each has a product,
    and names are used in several branches."""
    x, first, second = m.input("x", (2, 3)), m.weight(3, 4), m.weight(3, 4)
    zero = m.constant(0.0)

    def branch(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
        outs = [helper.make_tensor_value_info("y", T.FLOAT, None)]
        outs.append(helper.make_tensor_value_info("n", T.INT64, None))
        k = numpy_helper.from_array(np.float32(len(name)), f"k{name}")
        return helper.make_graph(nodes, name, [], outs, [k])

    def product(name: str, weight: str) -> onnx.GraphProto:
        scaled = helper.make_node("Mul", [x, f"k{name}"], ["h"])
        made = helper.make_node("MatMul", ["h", weight], ["y"])
        return branch(name, scaled, made, helper.make_node("ArgMax", ["y"], ["n"], axis=1))

    inner = helper.make_node(
        "If", ["is_large"], ["y", "n"], name="inner",
        then_branch=product("a", first), else_branch=product("bc", second),
    )  # fmt: skip
    large = helper.make_node("ReduceMax", [x], ["largest"], keepdims=1)
    large = [large, helper.make_node("Greater", ["largest", "kd"], ["is_large2"])]
    large.append(helper.make_node("Reshape", ["is_large2", m.constant([], np.int64)], ["is_large"]))
    condition = m.add("Greater", m.add("ReduceSum", x, keepdims=0), zero)
    y, n = m.add(
        "If", condition, outputs=2,
        then_branch=branch("d", *large, inner), else_branch=product("efg", second),
    )  # fmt: skip
    return str(m.add("Softmax", m.add("Mul", y, m.add("Cast", n, to=T.FLOAT))))


#: By what is tested; the operator is in front of the comma.
CASES: dict[str, Make] = {
    "MaxPool": pool("MaxPool", [2, 2], (1, 3, 6, 5), strides=[2, 2]),
    "MaxPool, ceil": pool(
        "MaxPool", [3, 2], (2, 3, 8, 7), strides=[2, 3], pads=[1, 0, 0, 1], ceil_mode=1
    ),
    "MaxPool, apart": pool("MaxPool", [2, 3], (1, 2, 7, 8), dilations=[3, 2]),
    "MaxPool, same": pool("MaxPool", [3], (2, 2, 7), strides=[2], auto_pad="SAME_LOWER"),
    "MaxPool, large": pool("MaxPool", [5, 4], (1, 2, 7, 9), pads=[2, 1, 2, 2], strides=[2, 1]),
    "MaxPool, 3 axes": pool("MaxPool", [2, 1, 2], (1, 2, 3, 4, 5)),
    "MaxPool, all": pool("MaxPool", [4, 5], (2, 3, 4, 5)),
    "AveragePool": pool("AveragePool", [3, 2], (1, 3, 7, 5), strides=[2, 1]),
    "AveragePool, padded": pool("AveragePool", [3, 3], (1, 2, 5, 6), pads=[1, 1, 1, 0]),
    "AveragePool, counted": pool(
        "AveragePool", [3, 3], (1, 2, 5, 6), pads=[1, 1, 1, 0], count_include_pad=1
    ),
    "AveragePool, ceil": pool(
        "AveragePool", [3], (1, 2, 8), strides=[2], pads=[1, 0], ceil_mode=1
    ),
    "AveragePool, ceil counted": pool(
        "AveragePool", [3], (1, 2, 9), strides=[3], pads=[1, 1], ceil_mode=1, count_include_pad=1
    ),
    # A last window would begin in the padding: it is left out.
    "MaxPool, ceil in pads": pool(
        "MaxPool", [3, 2], (1, 3, 5, 4), strides=[3, 2], pads=[1, 1, 1, 1], ceil_mode=1
    ),
    "AveragePool, ceil in pads": pool(
        "AveragePool", [3, 3], (1, 3, 2, 5), strides=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1
    ),
    "AveragePool, ceil in counted pads": pool(
        "AveragePool", [3, 3], (1, 3, 2, 2), strides=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1,
        count_include_pad=1,
    ),
    "AveragePool, all": pool("AveragePool", [4, 5], (2, 3, 4, 5)),
    "GlobalMaxPool, all": pool("MaxPool", [1, 1], (1, 1, 1, 1)),
    "Conv, block": block,
    "Conv, groups": conv((2, 6, 5, 4), 4, 3, 3, 2, group=2, pads=[1, 0, 1, 1]),
    "Conv, channels": conv((1, 5, 6, 7), 5, 1, 3, 3, group=5, pads=[1] * 4),
    "Conv, channels strided": conv(
        (2, 3, 7, 6), 3, 1, 3, 2, group=3, strides=[2, 1], dilations=[1, 2], pads=[0, 1, 2, 1]
    ),
    "Conv, channels with several": conv((1, 3, 4, 5), 6, 1, 2, 2, group=3),
    "Conv, channels large": conv((1, 2, 6, 7), 2, 1, 6, 5, group=2, pads=[2] * 4),
    "Conv, large": conv((1, 2, 6, 8), 3, 2, 6, 5, pads=[1, 2, 0, 1], strides=[1, 2]),
    "Conv, steps": conv((2, 1, 37), 3, 1, 30, strides=[5]),
    "Conv, 3 axes": conv((1, 2, 3, 4, 3), 2, 2, 2, 3, 1, pads=[0, 1, 0, 1, 1, 0]),
    "Conv, one axis": conv((1, 3, 9), 4, 3, 3, dilations=[2], pads=[1, 2]),
    "ConvTranspose": transposed((1, 3, 4, 5), 3, 2, 2, 2, strides=[2, 2]),
    "ConvTranspose, padded": transposed(
        (2, 2, 4, 3), 2, 3, 3, 3, strides=[2, 1], pads=[1, 0, 1, 1], output_padding=[1, 0]
    ),
    "ConvTranspose, groups": transposed((1, 4, 3, 3), 4, 2, 3, 2, group=2, dilations=[2, 1]),
    "ConvTranspose, cut": transposed((1, 2, 5), 2, 2, 2, strides=[3], pads=[2, 1]),
    "Resize": resize((1, 2, 3, 4), (1, 1, 2, 3), mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "Resize, ties": resize((1, 2, 3, 4), (1, 1, 2, 2), mode="nearest",
                           coordinate_transformation_mode="asymmetric"),
    "Resize, ties up": resize((1, 2, 3, 4), (1, 1, 2, 2), mode="nearest",
                              coordinate_transformation_mode="asymmetric",
                              nearest_mode="round_prefer_ceil"),
    "Resize, nearest": resize((1, 2, 5, 7), sizes=(1, 3, 8, 4), mode="nearest"),
    "Resize, ceil": resize((1, 2, 3, 4), (1, 1, 1.5, 0.6), mode="nearest",
                           coordinate_transformation_mode="align_corners", nearest_mode="ceil"),
    "Resize, linear": resize((1, 2, 3, 4), (1, 1, 2, 2), mode="linear"),
    "Resize, corners": resize((2, 1, 3, 5), sizes=(2, 3, 7, 3), mode="linear",
                              coordinate_transformation_mode="align_corners"),
    "Resize, cubic": resize((1, 2, 5, 4), (1, 1, 2, 0.7), mode="cubic"),
    "Resize, cubic within": resize((1, 2, 5, 4), sizes=(1, 3, 8, 7), mode="cubic",
                                   cubic_coeff_a=-0.5, exclude_outside=1),
    "Upsample": upsample,
    "Pad, reflect": padded("reflect", [0, 3, 2, 1]),
    "Pad, edge": padded("edge", [2, 0, 0, 3]),
    "Pad, cut": padded("constant", [-1, 2, 1, -2]),
    "LSTM": recurrent("LSTM", 4),
    "LSTM, aligned": recurrent("LSTM", 4, shape=(3, 4, 5), units=16),
    "LSTM, both": recurrent("LSTM", 4, "bidirectional", states=True),
    "LSTM, cell": recurrent("LSTM", 4, "reverse", states=True, number=2),
    "GRU": recurrent("GRU", 3, states=True),
    "GRU, linear": recurrent("GRU", 3, "bidirectional", linear_before_reset=1, number=1),
    "RNN": recurrent("RNN", 1),
    "Einsum": einsum("bij,bjk->bik", (2, 3, 4), 2, 4, 5),
    "Einsum, turned": einsum("bhqd,khd->qbk", (2, 3, 4, 5), 6, 3, 5),
    "Einsum, sum": einsum("ijk->ki", (2, 3, 4)),
    "Einsum, outer": einsum("i,j", (3,), 4),
    "ArgMax": place("ArgMax", 1), "ArgMin": place("ArgMin", 0),
    "GatherND": gathered_nd(True), "GatherND, data": gathered_nd(False),
    "GatherElements": gathered_elements(True), "GatherElements, data": gathered_elements(False),
    "ScatterND": scattered_rows(False), "ScatterND, turned": scattered_rows(True),
    "ScatterND, places": scattered_places, "ScatterElements": scattered_elements,
    "DepthToSpace": depth("DepthToSpace"), "DepthToSpace, CRD": depth("DepthToSpace", mode="CRD"),
    "SpaceToDepth": depth("SpaceToDepth"),
    "If": branches, "If, data": chosen,
}  # fmt: skip
