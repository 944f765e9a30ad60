"""A classifier's Flatten before a Gemm whose K is beyond 65,536."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx

import kgen
import kgen_runtime
from tests.onnx_models import Maker


def test_flatten_into_a_gemm(tmp_path: Path) -> None:
    m = Maker(18)
    x = m.input("x", (2, 16, 80, 80))
    weights = np.random.default_rng(1).integers(-3, 4, (4, 102400)).astype(np.float32)
    bias = np.arange(4, dtype=np.float32)
    y = m.add("Gemm", m.add("Flatten", x), m.constant(weights), m.constant(bias), transB=1)
    onnx.save(m.model(str(y)), tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"]).bundle.save(tmp_path / "m.kgen")
    given = np.random.default_rng(0).integers(-3, 4, (2, 16, 80, 80)).astype(np.float32)
    found: Any = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=given)
    expected = given.reshape(2, -1).astype(np.int64) @ weights.T.astype(np.int64) + bias
    np.testing.assert_array_equal(found, expected)
