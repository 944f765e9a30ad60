"""ONNX Runtime's contributed operators (`com.microsoft`), replaced by ONNX's own operators.

Models that ONNX Runtime optimised and saved contain them. Each entry of `WRITERS` follows ONNX
Runtime's ContribOperators.md. Later rewrites fuse the nodes that are written here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import helper

from kgen.graph.reading import contributed_attention, contributed_quantized
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.order import shown_name
from kgen.graph.reading.tensors import graphs_of
from kgen.graph.reading.writer import DOMAIN, GELU, LAYER_NORM, Writer

#: Contributed operators that ONNX Runtime registers in ONNX's own domain.
IN_ONNX = frozenset({"SimplifiedLayerNormalization"})


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
    """Write FastGelu: the tanh approximation of Gelu."""
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
    """Write MatMul, or Einsum for transposed operands of any rank.

    A constant matrix B multiplies all matrices of A; other operands have equal ranks then.
    """
    if w.attributes.get("transBatchA") or w.attributes.get("transBatchB"):
        raise w.refusal("has transBatchA or transBatchB, which kgen does not support",
                        "export it with a Transpose")  # fmt: skip
    a, b = (bool(w.attributes.get(name, 0)) for name in ("transA", "transB"))
    if a or b:
        matrix = w.known.get(w.input(1))
        batch = "" if matrix is not None and len(matrix.dims) == len("jk") else "..."
        equation = f"...{'ji' if a else 'ij'},{batch}{'kj' if b else 'jk'}->...ik"
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
    """Write the normalization of a sum; the sum itself is the fourth output."""
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
    if w.attributes.get("axis", -1) != -1:
        raise w.refusal("normalizes other axes than the last one", "export it with axis=-1")
    if any(w.node.output[1:3]):
        raise w.refusal("gives mean and deviation, which kgen does not support here",
                        "export it without them")  # fmt: skip
    return [normalized(w, total, gamma, beta, is_simple=is_simple), "", "", total]


def normalized(w: Writer, x: str, gamma: str, beta: str, *, is_simple: bool) -> str:
    """Normalize the last axis; a simple normalization does not subtract the mean."""
    epsilon = w.attributes.get("epsilon", 1e-5)
    if not is_simple and w.opset >= LAYER_NORM:
        given = [x, gamma, beta] if beta else [x, gamma]
        return w.add("LayerNormalization", *given, axis=-1, epsilon=epsilon)
    distance = x if is_simple else w.add("Sub", x, w.mean(x))
    mean = w.mean(w.add("Mul", distance, distance))
    root = w.add("Sqrt", w.add("Add", mean, w.number(epsilon, x)))
    found = w.add("Mul", w.add("Div", distance, root), gamma)
    return w.add("Add", found, beta) if beta else found


def embed_norm(w: Writer) -> list[str]:
    """Write EmbedLayerNormalization: a normalized sum of rows of tables.

    The second output is the number of words of each sequence, 0 without a mask, and the third is
    the sum.
    """
    ids, segments, words, places, kinds, gamma, beta, mask, positions = (
        w.input(i) for i in range(9)
    )
    total = w.add("Gather", words, ids, axis=0)
    if positions:
        rows = w.add("Gather", places, positions, axis=0)
    else:
        first, one = (w.constant(np.asarray([i], np.int64)) for i in range(2))
        length = w.add("Gather", w.add("Shape", ids), one, axis=0)
        rows = w.add("Slice", places, first, length, first)
    total = w.add("Add", total, rows)
    if segments:
        total = w.add("Add", total, w.add("Gather", kinds, segments, axis=0))
    count = w.row_sums(mask or w.add("Sub", ids, ids))
    return [normalized(w, total, gamma, beta, is_simple=False), count, total]


WRITERS: Mapping[str, Callable[[Writer], list[str]]] = {
    "BiasGelu": gelu,
    "EmbedLayerNormalization": embed_norm,
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
    **contributed_attention.WRITERS,
    **contributed_quantized.WRITERS,
}


def write_out(model: onnx.ModelProto) -> None:
    """Replace contributed operators in place by ONNX's own operators. Raises GraphError."""
    _write_out(model.graph, opsets_of(model).get("", 1))


def _write_out(graph: onnx.GraphProto, opset: int) -> None:
    nodes: list[onnx.NodeProto] = []
    known = {tensor.name: tensor for tensor in graph.initializer}
    is_changed = False
    for number, node in enumerate(graph.node):
        for attribute in node.attribute:
            for inner in graphs_of(attribute):
                _write_out(inner, opset)
        is_own = node.domain == DOMAIN or (node.domain in DOMAINS and node.op_type in IN_ONNX)
        if not is_own or node.op_type not in WRITERS or not node.output or not node.output[0]:
            nodes.append(node)
            continue
        writer = Writer(node, shown_name(node, number), opset, known)
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
