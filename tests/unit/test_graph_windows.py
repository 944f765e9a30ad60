"""Windows, places and time steps: what they become, computed by the scalar reference, against
definitions of their own; and these against onnx's reference where that is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
from onnx.reference import ReferenceEvaluator

from tests.onnx_models import Maker, lowered, reference, run
from tests.onnx_operators import CASES

#: Where onnx's own reference is wrong, or takes no such node.
WRONG = {
    "LSTM, both": "it has one direction",
    "GRU, linear": "it has one direction",
    "LSTM, cell": "it takes no direction and no peepholes",
    "MaxPool, same": "it begins one window more",
    "ConvTranspose, groups": "it does not take groups",
    "Pad, cut": "it does not pad by less than nothing",
}


def drawn(m: Maker) -> Any:
    shape = [d.dim_value for d in m.inputs[0].type.tensor_type.shape.dim]
    return (m.rng.standard_normal(shape) * 2).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_against_definitions(name: str) -> None:
    m = Maker()
    output = CASES[name](m)
    calls, model = lowered(m, output)
    x = drawn(m)
    expected = reference(model, x=x)
    (found,) = run(calls, {"x": x}).values()
    assert found.size == expected.size
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name not in WRONG])
def test_definitions_against_onnx(name: str) -> None:
    m = Maker()
    model = m.model(CASES[name](m))
    x = drawn(m)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    found = reference(model, x=x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
