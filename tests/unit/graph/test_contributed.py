"""Operators of ONNX Runtime against definitions in numpy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnx")

from kgen.errors import GraphError
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading.importer import imported
from kgen.graph.reading.onnx_file import read
from kgen.graph.rewrites.normalizations import folded
from tests.onnx_models import Array, run
from tests.unit.graph.test_edges import Edge, normal, whole

ERF = np.vectorize(math.erf)


def of(operator: str, expected: Any, *inputs: Array | None, opset: int = 21, **given: Any) -> Edge:
    outputs = given.pop("outputs", 1)
    constants = tuple(i for i, v in enumerate(inputs) if i and v is not None)
    return Edge(
        operator=operator, domain="com.microsoft", inputs=inputs, attributes=given, opset=opset,
        constants=constants, outputs=outputs, expected=expected,
    )  # fmt: skip


def gelu(x: Array, bias: Any = 0.0) -> Array:
    x = x + bias
    return np.asarray(x * 0.5 * (1 + ERF(x / math.sqrt(2))), np.float32)


def fast_gelu(x: Array, bias: Any = 0.0) -> Array:
    x = (x + bias).astype(np.float64)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return np.asarray(x * 0.5 * (1 + np.tanh(inner)), np.float32)


def normalised(x: Array, is_simple: bool = False, epsilon: float = 1e-5) -> Array:
    distance = x if is_simple else x - x.mean(-1, keepdims=True)
    root = np.sqrt((distance**2).mean(-1, keepdims=True) + epsilon)
    return np.asarray(distance / root, np.float32)


def conv(x: Array, w: Array, bias: Array, z: Array | None = None) -> Array:
    """A 1x1 convolution."""
    found = np.einsum("bihw,oi->bohw", x, w[:, :, 0, 0]) + bias[:, None, None]
    return np.asarray(found if z is None else found + z, np.float32)


def embedded(
    ids: Array, kinds: Any, words: Array, places: Array, table: Any, scale: Array, shift: Array,
    mask: Any = None, positions: Any = None,
) -> tuple[Array, ...]:  # fmt: skip
    """Return rows of tables, and the number of words."""
    total = words[ids] + places[np.arange(ids.shape[1])[None] if positions is None else positions]
    if kinds is not None:
        total = total + table[kinds]
    count = np.zeros(len(ids), np.int32) if mask is None else mask.sum(1, dtype=np.int32)
    return normalised(total, epsilon=1e-3) * scale + shift, count, total


X, Y = normal(2, 3, 8), normal(2, 3, 8)
IDS, MASK = whole(0, 5, 2, 3, dtype=np.int32), np.array([[1, 1, 0], [1, 1, 1]], np.int32)
TABLES = normal(5, 8), normal(4, 8), normal(2, 8)
IMAGE, KERNEL = normal(1, 3, 4, 4), normal(2, 3, 1, 1)
CASES: dict[str, Edge] = {
    **{f"Gelu, opset {opset}": of("Gelu", gelu, X, opset=opset) for opset in (13, 17, 21)},
    "BiasGelu": of("BiasGelu", gelu, X, normal(8)),
    "FastGelu": of("FastGelu", fast_gelu, X, opset=17),
    "FastGelu with a bias": of("FastGelu", fast_gelu, X, normal(8)),
    "QuickGelu": of("QuickGelu", lambda x: x / (1 + np.exp(-1.5 * x)), X, alpha=1.5),
    "FusedMatMul": of(
        "FusedMatMul", lambda a, b: a @ b * np.float32(0.5), X, normal(8, 4), alpha=0.5
    ),
    "FusedMatMul, transposed": of(
        "FusedMatMul", lambda a, b: a.transpose(0, 2, 1) @ b.transpose(0, 2, 1), X, normal(2, 5, 3),
        transA=1, transB=1,
    ),
    "FusedMatMul, transposed, by one matrix": of(
        "FusedMatMul", lambda a, b: a.transpose(0, 2, 1) @ b, X, normal(3, 5), transA=1
    ),
    "Trilu, opset 11": of(
        "Trilu", lambda x, k: np.tril(x, int(k)), X, np.array(1), upper=0, opset=11
    ),
    "Trilu, upper": of("Trilu", np.triu, X),
    "ExpandDims": of("ExpandDims", lambda x, _: x[:, None], X, np.array(1, np.int32), opset=11),
    "ExpandDims from the end": of("ExpandDims", lambda x, _: x[:, :, None], X, np.array([-2])),
    "FusedGemm": of(
        "FusedGemm", lambda a, b, c: np.where((v := a @ b.T + c) < 0, v * np.float32(0.3), v),
        normal(4, 5), normal(3, 5), normal(3), transB=1, activation="LeakyRelu",
        activation_alpha=0.3,
    ),
    "FusedConv": of(
        "FusedConv", lambda *given: np.maximum(conv(*given), 0), IMAGE, KERNEL, normal(2),
        activation="Relu",
    ),
    "FusedConv with a sum": of(
        "FusedConv", lambda *given: np.clip(conv(*given), -0.5, 1), IMAGE, KERNEL, normal(2),
        normal(1, 2, 4, 4), activation="Clip", activation_params=[-0.5, 1.0],
    ),
    **{
        f"EmbedLayerNormalization, opset {opset}": of(
            "EmbedLayerNormalization", embedded, IDS, IDS % 2, *TABLES, normal(8), normal(8), MASK,
            outputs=3, epsilon=1e-3, opset=opset,
        )
        for opset in (11, 21)
    },
    "EmbedLayerNormalization without a mask": of(
        "EmbedLayerNormalization", embedded, IDS, None, *TABLES[:2], None, normal(8), normal(8),
        None, IDS[:1] % 3, outputs=3, epsilon=1e-3,
    ),
    **{
        f"SkipLayerNormalization, opset {opset}": of(
            "SkipLayerNormalization",
            lambda x, y, scale, shift, bias: normalised(x + y + bias, epsilon=1e-3) * scale + shift,
            X, Y, normal(8), normal(8), normal(8), epsilon=1e-3, opset=opset,
        )
        for opset in (13, 17, 21)
    },
    "SkipLayerNormalization without a bias": of(
        "SkipLayerNormalization", lambda x, y, scale: normalised(x + y) * scale, X, Y, normal(8)
    ),
    "SimplifiedLayerNormalization": of(
        "SimplifiedLayerNormalization", lambda x, scale: normalised(x, True) * scale, X, normal(8)
    ),
    "SkipSimplifiedLayerNormalization": of(
        "SkipSimplifiedLayerNormalization",
        lambda x, y, scale, bias: normalised(x + y + bias, True) * scale,
        X, Y, normal(8), normal(8),
    ),
}  # fmt: skip


def written(edge: Edge, folder: Path) -> onnx.ModelProto:
    onnx.save(edge.model(), folder / "model.onnx")
    return read(folder / "model.onnx")


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name: str, tmp_path: Path) -> None:
    edge = CASES[name]
    model = folded(imported(written(edge, tmp_path), {}, OPERATORS))
    calls = lower(fuse(graph_of(model)))
    found = run(calls, {"x0": edge.inputs[0]})
    for number, expected in enumerate(edge.values()):
        assert model.tensors[f"y{number}"].shape == expected.shape
        made = found[f"y{number}"].reshape(expected.shape)
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)


def test_a_sum_is_the_fourth_result(tmp_path: Path) -> None:
    edge = of(
        "SkipLayerNormalization", lambda x, y, scale: (x, x, x, x + y), X, Y, normal(8), outputs=4
    )
    model = edge.model()
    node, outputs = model.graph.node[0], list(model.graph.output)
    node.output[1], node.output[2] = "", ""
    del model.graph.output[:]
    model.graph.output.extend([outputs[0], outputs[3]])
    onnx.save(model, tmp_path / "model.onnx")
    made = graph_of(folded(imported(read(tmp_path / "model.onnx"), {}, OPERATORS)))
    np.testing.assert_allclose(
        run(lower(fuse(made)), {"x0": X})["y3"].reshape(X.shape), X + Y, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("edge", "why"),
    [
        (of("FusedConv", conv, IMAGE, KERNEL, normal(2), activation="Swoosh"), "activation=Swoosh"),
        (of("FusedMatMul", np.matmul, X, normal(2, 8, 3), transBatchA=1), "transBatchA"),
        (of("SimplifiedLayerNormalization", lambda x, _: x, X, normal(8), axis=1), "other axes"),
        (of("Attention", lambda x, _: x, X, normal(24), num_heads=2), "weights of shape 24; give"),
    ],
)  # fmt: skip
def test_refused(edge: Edge, why: str, tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=why) as raised:
        written(edge, tmp_path)
    assert "\n" not in str(raised.value) and len(str(raised.value)) <= 500
