"""Values with more dimensions than a kernel supports: axes that all tensors traverse alike are
merged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx.reference import ReferenceEvaluator

import kgen
import kgen_runtime
from kgen.errors import GraphError
from tests.onnx_models import Maker

SIZES = (2,) * 9
#: A function of a value of nine dimensions and its shape.
Make = Callable[[Maker, str], str]


def reshaped(m: Maker, x: str, *shape: int) -> str:
    return str(m.add("Reshape", x, m.constant(shape, np.int64)))


def broadcast(m: Maker, x: str) -> str:
    return str(m.add("Mul", x, m.weight(2, 1, 2, 1, 2, 1, 2, 1, 1)))


def products(m: Maker, x: str) -> str:
    return str(m.add("MatMul", m.add("Transpose", x, perm=[0, 1, 2, 3, 4, 5, 6, 8, 7]), x))


CASES: dict[str, Make] = {
    "Relu": lambda m, x: str(m.add("Relu", x)),
    "Add with itself permuted": lambda m, x: str(
        m.add("Add", x, m.add("Transpose", x, perm=[1, 0, 2, 3, 4, 5, 6, 7, 8]))
    ),
    "Transpose": lambda m, x: str(m.add("Transpose", x, perm=[8, 6, 4, 2, 0, 1, 3, 5, 7])),
    "Transpose of a formula": lambda m, x: str(
        m.add("Transpose", m.add("Exp", x), perm=[0, 2, 1, 4, 3, 5, 6, 8, 7])
    ),
    "Mul": broadcast,
    "ReduceMean": lambda m, x: str(
        m.add("ReduceMean", x, m.constant([1, 4, 7], np.int64), keepdims=1)
    ),
    "Softmax": lambda m, x: str(m.add("Softmax", x, axis=4)),
    "MatMul": products,
    "Gather": lambda m, x: str(m.add("Gather", x, m.constant([1], np.int64), axis=3)),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", CASES)
def test_nine_dimensions(name: str, tmp_path: Path) -> None:
    m = Maker(18)
    found = CASES[name](m, reshaped(m, m.input("x", (8, 64)), *SIZES))
    onnx.save(m.model(reshaped(m, found, -1)), tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"]).bundle.save(tmp_path / "m.kgen")
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    got: Any = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=x)
    (expected,) = ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x": x})
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_inputs_and_outputs_have_eight(tmp_path: Path) -> None:
    m = Maker(18)
    onnx.save(m.model(str(m.add("Relu", m.input("x", SIZES)))), tmp_path / "m.onnx")
    with pytest.raises(GraphError, match=r"x has 9 dimensions, .* at most 8; give it fewer"):
        kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"])


def test_a_permutation_of_nine_axes(tmp_path: Path) -> None:
    m = Maker(18)
    x = m.add("Exp", reshaped(m, m.input("x", (8, 64)), *SIZES))
    y = str(m.add("Transpose", x, perm=[0, 2, 1, 4, 3, 6, 5, 8, 7]))
    onnx.save(m.model(reshaped(m, y, -1)), tmp_path / "m.onnx")
    with pytest.raises(GraphError, match=r"reshape it to at most 8 axes, or split its Transpose"):
        kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"])


def test_axes_that_do_not_merge(tmp_path: Path) -> None:
    """Two operands that each broadcast along every second of ten axes."""
    m = Maker(18)
    even = reshaped(m, m.input("x", (32,)), *(2, 1) * 5)
    odd = reshaped(m, m.input("y", (32,)), *(1, 2) * 5)
    onnx.save(m.model(reshaped(m, str(m.add("Add", even, odd)), -1)), tmp_path / "m.onnx")
    with pytest.raises(GraphError, match=r"has 10 axes that do not merge, .* \(node /Add\d\)"):
        kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"])
