"""Results that are written in place of an input: right with every remainder, and only if the
kernel reads an element before it writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest

import kgen
import kgen_runtime
from kgen import pipeline, targets
from kgen.graph.memory import ALIGNMENT
from kgen.graph.memory_reuse import reusable_parameters
from kgen.spec import Elementwise, Matmul, Rowwise, Spec
from tests.onnx_models import Maker


def chain(rows: int, cols: int) -> onnx.ModelProto:
    """Return products followed by rows and element-wise kernels, all of one shape."""
    m = Maker()
    h = m.add("MatMul", m.input("x", (rows, 8)), m.weight(8, cols))
    h = m.add("Softmax", h, axis=-1)
    h = m.add("LayerNormalization", h, m.weight(cols), m.weight(cols), axis=-1)
    h = m.add("Softmax", m.add("Mul", h, h), axis=0)
    h = m.add("LogSoftmax", h, axis=-1)
    return m.model(m.add("MatMul", h, m.weight(cols, 3)))


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
@pytest.mark.parametrize(("rows", "cols"), [(5, 37), (3, 1001), (1, 64), (2, 20011)])
def test_a_chain_in_one_place(rows: int, cols: int, device: str, tmp_path: Path) -> None:
    model = chain(rows, cols)
    onnx.save(model, tmp_path / "m.onnx")
    target = {"cpu": "native", "vulkan": "vulkan1.3"}[device]
    made = kgen.compile_model(tmp_path / "m.onnx", [target]).bundle
    (program,) = made.manifest.programs
    assert len(program.steps) == 5
    one = -(-rows * cols * 4 // ALIGNMENT) * ALIGNMENT
    # The softmax along columns has a place of its own: on CPUs its vectors may overlap.
    assert program.arena_bytes == (1 + (rows > 1)) * one
    path = made.save(tmp_path / "m.kgen")
    x = np.random.default_rng(0).standard_normal((rows, 8), np.float32)
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})
    for threads in (1, 2) if device == "cpu" else (None,):
        loaded = kgen_runtime.load(path, device=device, num_threads=threads).program
        found: Any = loaded.run(x=x)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(loaded.run(x=x), found)


F32: Any = {"dtype": "f32"}


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (Elementwise(expression="x + y", shapes=((4, 6), (6,)), **F32), {"x"}),
        (Elementwise(expression="x + y", shapes=((4, 6), (4, 6)), **F32), {"x", "y"}),
        (Elementwise(expression="x + permute(x, 1, 0)", shapes=((6, 6),), **F32), set()),
        (Elementwise(expression="cast(x)", shapes=((6,),), dtype="f32", out_dtype="s32"), set()),
        (Rowwise(expression="softmax(x)", shapes=((4, 6),), **F32), {"x"}),
        (Rowwise(expression="sum(x)", shapes=((4, 6),), **F32), set()),
        (Rowwise(expression="softmax(x)", shapes=((4, 6),), axes=(0,), **F32), set()),
        (Matmul(m=6, n=6, k=6, epilogue=("bias", "residual"), **F32), {"residual"}),
        (Matmul(m=6, n=6, k=6, beta=1.0, **F32), {"c"}),
    ],
    ids=lambda value: value.key if isinstance(value, Spec) else None,
)
def test_operands_that_may_lie_there(spec: Spec, names: set[str]) -> None:
    assert reusable_parameters(pipeline.plan(spec, targets.find("x86-64-v3"))) == names


@pytest.mark.parametrize(
    ("spec", "target", "overrides"),
    [
        (Elementwise(expression="x + 1", shapes=((4096,),), **F32), "x86-64-v3", "nontemporal"),
        (Rowwise(expression="softmax(x)", shapes=((4, 4096),), **F32), "x86-64-v3", "nontemporal"),
        (Matmul(m=33, n=64, k=64, dtype="bf16", epilogue=("residual",)), "x86-64-amx", ""),
    ],
    ids=lambda value: value.key if isinstance(value, Spec) else None,
)
def test_none_where_vectors_or_tiles_overlap(spec: Spec, target: str, overrides: str) -> None:
    fields: Any = {overrides: 1} if overrides else {}
    plan = pipeline.plan_with(spec, targets.find(target), fields)
    assert not reusable_parameters(plan)
