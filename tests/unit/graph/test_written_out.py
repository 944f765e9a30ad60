"""Nodes that become other nodes because their shapes or operands are constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from kgen.check.model.truth import evaluator, in_f64
from kgen.errors import GraphError
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from tests.onnx_models import Array, Maker, run

X = (np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 9.5) / 4


def computed(model: onnx.ModelProto, **inputs: Array) -> tuple[Array, list[str]]:
    """Return the output, and the imported operators."""
    found, graph = graph_by_bodies(model, {})
    (output,) = run(lower(fuse(graph)), inputs).values()
    return output, [node.operator for node in found.nodes]


@pytest.mark.parametrize(
    ("axis", "condition"),
    [
        (None, [0, 1, 1, 0, 0, 0, 0, 1]),
        (0, [0, 1]),
        (1, [1, 0, 1]),
        (-1, [0, 1]),
        (-2, [1]),
        (2, [0, 1, 0, 1]),
    ],
)
def test_compress(axis: int | None, condition: list[int]) -> None:
    """A condition may be shorter than its axis."""
    m = Maker(opset=11)
    given = {} if axis is None else {"axis": axis}
    y = m.add("Compress", m.input("x", X.shape), m.constant(condition, np.bool_), **given)
    found, operators = computed(m.model(m.add("Neg", y)), x=X)
    expected = -np.compress(np.array(condition, bool), X, axis)
    np.testing.assert_array_equal(found, expected.reshape(-1))
    assert "Compress" not in operators


def test_nothing_is_left_of_a_compress() -> None:
    m = Maker(opset=13)
    x = m.input("x", X.shape)
    none = m.add("Compress", x, m.constant([0, 0], np.bool_), axis=1)
    found, _ = computed(m.model(m.add("Concat", none, m.add("Neg", x), axis=1)), x=X)
    np.testing.assert_array_equal(found, -X.reshape(-1))


@pytest.mark.parametrize(
    ("k", "dtype", "storage"),
    [(0, T.FLOAT, np.float32), (-1, T.INT32, np.int32), (4, T.FLOAT, np.float32)],
)
def test_eye_like(k: int, dtype: int, storage: Any) -> None:
    m = Maker(opset=22)
    x = m.input("x", (3, 4))
    like = m.add("EyeLike", m.add("Neg", x), k=k, dtype=dtype)
    found, operators = computed(m.model(m.add("Add", x, m.add("Cast", like, to=T.FLOAT))), x=X[0])
    np.testing.assert_array_equal(found.reshape(3, 4), X[0] + np.eye(3, 4, k, storage))
    assert operators == ["Add"]


@pytest.mark.parametrize("opset", [10, 12, 13])
def test_the_mask_of_dropout(opset: int) -> None:
    """The mask keeps all elements."""
    m = Maker(opset=opset)
    x = m.input("x", X.shape)
    mode = () if opset < 12 else (m.constant(0.5), m.constant(False, np.bool_))
    y, mask = m.add("Dropout", x, *mode, outputs=2)
    kept = m.add("Where", mask, y, m.constant(7.0))
    found, operators = computed(m.model(m.add("Neg", kept)), x=X)
    np.testing.assert_array_equal(found, -X.reshape(-1))
    assert "Dropout" not in operators


def test_the_mask_of_dropout_in_training_is_refused() -> None:
    m = Maker(opset=13)
    mode = m.constant(0.5), m.constant(True, np.bool_)
    y, mask = m.add("Dropout", m.input("x", X.shape), *mode, outputs=2)
    with pytest.raises(GraphError, match="is in training mode"):
        computed(m.model(m.add("Where", mask, y, y)))


def scattered(x: Array, w: Array, steps: tuple[int, int], sizes: tuple[int, int]) -> Array:
    """Add up all windows of a transposed convolution of one channel, in an image of these sizes."""
    found = np.zeros(sizes)
    for i, j in np.ndindex(*x.shape):
        top, left = i * steps[0], j * steps[1]
        found[top : top + w.shape[0], left : left + w.shape[1]] += x[i, j] * w
    return found


@pytest.mark.parametrize(
    ("given", "sizes", "cut"),
    [
        ({"auto_pad": "SAME_UPPER"}, (7, 14), (slice(0, 6), slice(1, 13))),
        ({"auto_pad": "SAME_LOWER"}, (7, 14), (slice(1, 7), slice(1, 13))),
        ({"output_shape": [6, 13]}, (7, 14), (slice(1, 7), slice(1, 14))),
        ({"output_shape": [8, 15]}, (8, 15), (slice(0, 8), slice(0, 15))),
        ({"output_shape": [6, 13], "auto_pad": "SAME_UPPER"}, (7, 14), (slice(0, 6), slice(0, 13))),
    ],
)
def test_pads_of_a_transposed_convolution(given: Any, sizes: Any, cut: Any) -> None:
    """Kernels of 3x5 with a stride of two rows and three columns."""
    m = Maker(opset=22)
    w = m.weight(1, 1, 3, 5)
    y = m.add("ConvTranspose", m.input("x", (1, 1, 3, 4)), w, strides=[2, 3], **given)
    image = X[:1, None]
    found, _ = computed(m.model(y), x=image)
    expected = scattered(image[0, 0], m.constants[w][0, 0], (2, 3), sizes)[cut]
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)
    (defined,) = evaluator(in_f64(m.model(y))).run(None, {"x": image.astype(np.float64)})
    np.testing.assert_allclose(defined[0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, 2, -1])
def test_a_batch_of_tensor_scatters(mode: str, axis: int) -> None:
    """Each batch element has its own start."""
    m = Maker(opset=24)
    shape, starts = (2, 3, 4), np.array([1, 0]) + (mode == "circular")
    rows = (2, 2, 4) if axis == 1 else (2, 3, 2)
    values = m.rng.standard_normal(rows).astype(np.float32)
    y = m.add(
        "TensorScatter", m.input("x", shape), m.input("rows", rows),
        m.input("first", (2,), T.INT64), axis=axis, mode=mode,
    )  # fmt: skip
    found, _ = computed(m.model(y), x=X, rows=values, first=starts)
    expected = np.moveaxis(X.copy(), axis, 1)
    for image, start in enumerate(starts):
        for step in range(2):
            expected[image, (start + step) % shape[axis]] = np.moveaxis(values, axis, 1)[
                image, step
            ]
    np.testing.assert_array_equal(found.reshape(shape), np.moveaxis(expected, 1, axis))


def test_flex_attention_with_a_function_of_scores() -> None:
    """An operator of ONNX's preview domain is replaced by its body."""
    m = Maker(opset=26)
    body = helper.make_graph(
        [helper.make_node("Tanh", ["scores"], ["bent"])], "score_mod",
        [helper.make_tensor_value_info("scores", T.FLOAT, [1, 2, 3, 5])],
        [helper.make_tensor_value_info("bent", T.FLOAT, [1, 2, 3, 5])],
    )  # fmt: skip
    shapes = {"q": (1, 2, 3, 4), "k": (1, 2, 5, 4), "v": (1, 2, 5, 6)}
    y = m.add(
        "FlexAttention", *(m.input(n, s) for n, s in shapes.items()), score_mod=body,
        domain="ai.onnx.preview",
    )  # fmt: skip
    model = m.model(y)
    model.opset_import.append(helper.make_opsetid("ai.onnx.preview", 1))
    given = {n: m.rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    found, _ = computed(model, **given)
    scores = np.tanh(given["q"] @ given["k"].swapaxes(2, 3) / 2)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(found, (weights @ given["v"]).reshape(-1), rtol=1e-5, atol=1e-6)
