"""Narrow weights: scales of convolutions whose nodes share a name, as in the steps of a Loop."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.graph.compile import load
from kgen.graph.ir import SourceNode
from kgen.spec.choices import BType
from tests.onnx_models import Maker


def test_convolutions_of_one_name_have_scales_of_their_own() -> None:
    m = Maker()
    weights = [m.weight(4, 3, 1, 1, scale=0.1), m.weight(4, 4, 1, 1, scale=10.0)]
    x = m.input("x", (1, 3, 5, 5))
    for weight in weights:
        x = m.add("Conv", x, weight)
        m.nodes[-1].name = "conv"
    constants = load(m.model(x), {}, BType.S8).graph.constants
    found = [array.ravel() for name, array in constants.items() if name.endswith(":scale")]
    right = [np.abs(m.constants[w]).reshape(4, -1).max(axis=1) / 127 for w in weights]
    np.testing.assert_allclose(found, right, rtol=1e-6)


@pytest.mark.parametrize("operator", ["MatMul", "Conv"])
def test_weights_that_equal_another_constant(operator: str) -> None:
    """They are narrowed, and the other constant stays f32."""
    m = Maker()
    shape = (4, 4) if operator == "MatMul" else (4, 4, 1, 1)
    weights, ones = m.weight(*shape), m.constant(np.ones((4, 4)))
    same = m.constant(m.constants[weights])
    x = m.add("Add", m.input("x", (4, 4, 4, 4)[: len(shape)]), same)
    y = m.add("MatMul", m.add(operator, x, weights), ones)
    dtypes = [
        str(value.dtype)
        for value in load(m.model(y), {}, BType.S8).graph.values.values()
        if isinstance(value.operation, SourceNode) and value.shape[:2] == (4, 4)
    ]
    assert dtypes.count("s8") == 2
