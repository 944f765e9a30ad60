"""Operators that ONNX Runtime adds to ONNX (`com.microsoft`), written as ONNX's own operators.

Optimised models that ONNX Runtime saves have them. Each entry of `WRITERS` follows ONNX Runtime's
document of its contributed operators. Later rewrites fuse the nodes that are written here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.order import shown_name
from kgen.graph.reading.tensors import graphs_of

DOMAIN = "com.microsoft"
#: Contributed operators that ONNX Runtime registers in ONNX's own domain.
IN_ONNX = frozenset({"SimplifiedLayerNormalization"})
#: First opset with CastLike, LayerNormalization, axes of ReduceMean as an input, and Gelu.
CAST_LIKE, LAYER_NORM, AXES_AS_INPUT, GELU = 15, 17, 18, 20
#: Activation functions of fused operators, with the attributes that they take.
ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "": (), "Clip": ("min", "max"), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",), "Relu": (), "Sigmoid": (), "Tanh": (),
}  # fmt: skip


class Writer:
    """Nodes that replace one node, and the constants that they need."""

    def __init__(self, node: onnx.NodeProto, name: str, opset: int) -> None:
        self.node, self.name, self.opset = node, name, opset
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.attributes: dict[str, Any] = {
            a.name: helper.get_attribute_value(a) for a in node.attribute
        }

    def input(self, number: int) -> str:
        """Return the name of an input; "" if it is left out."""
        return self.node.input[number] if number < len(self.node.input) else ""

    def text(self, name: str) -> str:
        found = self.attributes.get(name, b"")
        return str(found.decode(errors="replace") if isinstance(found, bytes) else found)

    def fresh(self) -> str:
        return f"{self.node.output[0]}/{len(self.nodes) + len(self.constants)}"

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Append a node; return the name of its first result."""
        name = self.fresh()
        names = [name, *(f"{name}.{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(operator, inputs, names, name=self.name, **attributes))
        return name

    def number(self, value: float, like: str) -> str:
        """Add a scalar constant of the type of the value `like`; return its name."""
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return self.add("CastLike", name, like) if self.opset >= CAST_LIKE else name

    def mean(self, x: str) -> str:
        if self.opset < AXES_AS_INPUT:
            return self.add("ReduceMean", x, axes=[-1], keepdims=1)
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(np.array([-1], np.int64), name))
        return self.add("ReduceMean", x, name, keepdims=1)

    def refusal(self, why: str, remedy: str) -> GraphError:
        return GraphError(f"node {self.name} ({DOMAIN}.{self.node.op_type}) {why}; {remedy}")

    def activated(self, x: str, *numbers: float) -> str:
        """Apply the node's activation function, with `numbers` as its attributes."""
        name = self.text("activation")
        if name not in ACTIVATIONS:
            known = ", ".join(filter(None, ACTIVATIONS))
            raise self.refusal(f"has activation={name}; it takes {known}", "export it unfused")
        if not name:
            return x
        if name == "Clip":
            if len(numbers) != 2:
                raise self.refusal(f"clips by {len(numbers)} numbers, not 2", "export it unfused")
            return self.add("Clip", x, *(self.number(n, x) for n in numbers))
        given: dict[str, Any] = dict(zip(ACTIVATIONS[name], numbers, strict=False))
        return self.add(name, x, **given)


def gelu(w: Writer) -> list[str]:
    x = w.input(0)
    if w.node.op_type == "BiasGelu":
        x = w.add("Add", x, w.input(1))
    if w.opset >= GELU:
        return [w.add("Gelu", x)]
    inner = w.add("Erf", w.add("Div", x, w.number(math.sqrt(2.0), x)))
    whole = w.add("Mul", x, w.add("Add", inner, w.number(1.0, x)))
    return [w.add("Mul", whole, w.number(0.5, x))]


def fast_gelu(w: Writer) -> list[str]:
    """Write the tanh approximation of Gelu."""
    x = w.add("Add", w.input(0), w.input(1)) if w.input(1) else w.input(0)
    if w.opset >= GELU:
        return [w.add("Gelu", x, approximate="tanh")]
    cube = w.add("Mul", w.add("Mul", w.add("Mul", x, x), x), w.number(0.044715, x))
    inner = w.add("Mul", w.add("Add", x, cube), w.number(math.sqrt(2.0 / math.pi), x))
    whole = w.add("Mul", x, w.add("Add", w.add("Tanh", inner), w.number(1.0, x)))
    return [w.add("Mul", whole, w.number(0.5, x))]


def quick_gelu(w: Writer) -> list[str]:
    x = w.input(0)
    scaled = w.add("Mul", x, w.number(w.attributes.get("alpha", 1.702), x))
    return [w.add("Mul", x, w.add("Sigmoid", scaled))]


def fused_matmul(w: Writer) -> list[str]:
    """Write MatMul, or Einsum if an operand is transposed: it works for any number of axes."""
    if w.attributes.get("transBatchA") or w.attributes.get("transBatchB"):
        raise w.refusal("has transBatchA or transBatchB, which kgen does not support",
                        "export it with a Transpose")  # fmt: skip
    a, b = (bool(w.attributes.get(name, 0)) for name in ("transA", "transB"))
    if a or b:
        equation = f"...{'ji' if a else 'ij'},...{'kj' if b else 'jk'}->...ik"
        found = w.add("Einsum", w.input(0), w.input(1), equation=equation)
    else:
        found = w.add("MatMul", w.input(0), w.input(1))
    alpha = w.attributes.get("alpha", 1.0)
    return [found if alpha == 1.0 else w.add("Mul", found, w.number(alpha, found))]


def fused_gemm(w: Writer) -> list[str]:
    own = {k: v for k, v in w.attributes.items() if k in ("alpha", "beta", "transA", "transB")}
    found = w.add("Gemm", *w.node.input, **own)
    numbers = [
        w.attributes[f"activation_{name}"]
        for name in ("alpha", "beta", "gamma")
        if f"activation_{name}" in w.attributes
    ]
    return [w.activated(found, *numbers)]


def fused_conv(w: Writer) -> list[str]:
    """Write Conv, the addition of a fourth input, and an activation function."""
    own = {k: v for k, v in w.attributes.items() if not k.startswith("activation")}
    found = w.add("Conv", *w.node.input[:3], **own)
    if w.input(3):
        found = w.add("Add", found, w.input(3))
    return [w.activated(found, *w.attributes.get("activation_params", ()))]


def skip_norm(w: Writer) -> list[str]:
    """Write the normalization of a sum; the sum itself is the fourth result."""
    is_simple = w.node.op_type.endswith("SimplifiedLayerNormalization")
    total = w.input(0)
    if w.node.op_type.startswith("Skip"):
        total = w.add("Add", total, w.input(1))
        gamma, *others = (w.input(i) for i in range(2, 5))
        beta, bias = ("", others[0]) if is_simple else others
        if bias:
            total = w.add("Add", total, bias)
    else:
        gamma, beta = w.input(1), ""
    epsilon = w.attributes.get("epsilon", 1e-5)
    if w.attributes.get("axis", -1) != -1:
        raise w.refusal("normalizes other axes than the last one", "export it with axis=-1")
    if any(w.node.output[1:3]):
        raise w.refusal("gives mean and deviation, which kgen does not support here",
                        "export it without them")  # fmt: skip
    if not is_simple and w.opset >= LAYER_NORM:
        given = [total, gamma, beta] if beta else [total, gamma]
        found = w.add("LayerNormalization", *given, axis=-1, epsilon=epsilon)
        return [found, "", "", total]
    distance = total if is_simple else w.add("Sub", total, w.mean(total))
    mean = w.mean(w.add("Mul", distance, distance))
    root = w.add("Sqrt", w.add("Add", mean, w.number(epsilon, total)))
    found = w.add("Mul", w.add("Div", distance, root), gamma)
    return [w.add("Add", found, beta) if beta else found, "", "", total]


WRITERS: Mapping[str, Callable[[Writer], list[str]]] = {
    "BiasGelu": gelu,
    "FastGelu": fast_gelu,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "Gelu": gelu,
    "QuickGelu": quick_gelu,
    "SimplifiedLayerNormalization": skip_norm,
    "SkipLayerNormalization": skip_norm,
    "SkipSimplifiedLayerNormalization": skip_norm,
    "TransposeMatMul": fused_matmul,
}


def write_out(model: onnx.ModelProto) -> None:
    """Replace contributed operators in place by ONNX's own operators. Raises GraphError."""
    _write_out(model.graph, opsets_of(model).get("", 1))


def _write_out(graph: onnx.GraphProto, opset: int) -> None:
    nodes: list[onnx.NodeProto] = []
    is_changed = False
    for number, node in enumerate(graph.node):
        for attribute in node.attribute:
            for inner in graphs_of(attribute):
                _write_out(inner, opset)
        is_own = node.domain == DOMAIN or (node.domain in DOMAINS and node.op_type in IN_ONNX)
        if not is_own or node.op_type not in WRITERS or not node.output or not node.output[0]:
            nodes.append(node)
            continue
        writer = Writer(node, shown_name(node, number), opset)
        results = WRITERS[node.op_type](writer)
        for name, result in zip(node.output, results, strict=False):
            if name:
                made = helper.make_node("Identity", [result], [name], name=writer.name)
                writer.nodes.append(made)
        nodes += writer.nodes
        graph.initializer.extend(writer.constants)
        is_changed = True
    if is_changed:
        kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(kept)
