"""Narrow weights: scales of convolutions whose nodes share a name, as in the steps of a Loop."""

from __future__ import annotations

import numpy as np

from kgen.graph.compile import load
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
