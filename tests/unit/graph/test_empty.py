"""Values without elements within a model."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from kgen.errors import GraphError
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from tests.onnx_models import Array, Maker, run

X = (np.arange(10, dtype=np.float32).reshape(2, 5) - 4.5) / 4


def computed(model: onnx.ModelProto) -> tuple[Array, list[str]]:
    """The output and the operators of the nodes that were read."""
    found, graph = graph_by_bodies(model, {})
    (output,) = run(lower(fuse(graph)), {"x": X}).values()
    return output, [node.operator for node in found.nodes]


def split(m: Maker, x: str, *sizes: int) -> list[str]:
    """Parts along axis 1."""
    if m.opset < 13:
        return list(m.add("Split", x, outputs=len(sizes), axis=1, split=sizes))
    return list(m.add("Split", x, m.constant(sizes, np.int64), outputs=len(sizes), axis=1))


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_parts_without_elements(opset: int) -> None:
    """They are split off, computed with, and joined again."""
    m = Maker(opset=opset)
    a, b, c = split(m, m.input("x", X.shape), 2, 0, 3)
    joined = m.add("Concat", m.add("Neg", c), m.add("Exp", b), m.add("Abs", a), b, axis=1)
    found, operators = computed(m.model(joined))
    expected = np.concatenate([-X[:, 2:], np.abs(X[:, :2])], axis=1)
    np.testing.assert_allclose(found.reshape(X.shape), expected)
    assert operators == ["Split", "Neg", "Abs", "Concat"]


def test_one_part_is_the_whole() -> None:
    m = Maker(opset=13)
    none, whole = split(m, m.input("x", X.shape), 0, 5)
    found, operators = computed(m.model(m.add("Neg", m.add("Concat", whole, none, axis=1))))
    np.testing.assert_allclose(found.reshape(X.shape), -X)
    assert operators == ["Identity", "Identity", "Neg"]


def test_a_sum_over_nothing_is_a_constant() -> None:
    m = Maker(opset=13)
    x = m.input("x", X.shape)
    none, _ = split(m, x, 0, 5)
    total = m.add("ReduceSum", none, m.constant([1], np.int64), keepdims=1)
    found, operators = computed(m.model(m.add("Add", x, m.add("Exp", total))))
    np.testing.assert_allclose(found.reshape(X.shape), X + 1, rtol=1e-6)
    assert operators == ["Add"]


def test_an_output_without_elements_is_refused() -> None:
    m = Maker(opset=13)
    none, _ = split(m, m.input("x", X.shape), 0, 5)
    with pytest.raises(GraphError, match=r"is of shape 2x0, without elements; export the model w"):
        computed(m.model(m.add("Neg", none)))


def test_a_range_of_lists_of_one_number() -> None:
    """ONNX's own body of AffineGrid has them."""
    m = Maker(opset=20)
    x = m.input("x", X.shape)
    bounds = [m.constant([n], np.int64) for n in (0, 10, 2)]
    steps = m.add("Cast", m.add("Range", *bounds), to=onnx.TensorProto.FLOAT)
    found, _ = computed(m.model(m.add("Add", x, steps)))
    np.testing.assert_allclose(found.reshape(X.shape), X + np.arange(0, 10, 2), rtol=1e-6)
