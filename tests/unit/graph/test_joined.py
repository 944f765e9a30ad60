"""Concatenations whose operands are written as parts of the result: conditions and cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx.reference import ReferenceEvaluator

import kgen
import kgen_runtime
from kgen.building import targets_of
from kgen.graph.compile import load, lowered_for
from kgen.graph.lowering.calls import KernelCall, Lowered
from kgen.targets import family
from tests.onnx_models import Maker, reference
from tests.unit.graph.test_timesteps import recurrent, scan

TARGETS = ("x86-64-v3", "sm_80", "vulkan1.1")


def calls_for(model: onnx.ModelProto, name: str) -> tuple[KernelCall, ...]:
    (target,) = targets_of(name)
    return lowered_for(load(model, {}, alignment=family(target.family).alignment), target).calls


#: Layers, and how many calls each has without parts that are written in place.
COPIED: dict[str, tuple[onnx.ModelProto, int]] = {
    "GRU": (recurrent("GRU", 12, batch=1, units=5), 52),
    "LSTM": (recurrent("LSTM", 12, lengths=True, direction="bidirectional"), 146),
    "RNN": (recurrent("RNN", 11, direction="bidirectional"), 49),
    "Scan": (scan(12), 26),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layer", COPIED)
def test_parts_that_are_written_in_place_cost_no_calls(layer: str, target: str) -> None:
    """No kernel only copies, on targets whose kernels accept different offsets."""
    model, copied = COPIED[layer]
    assert len(calls_for(model, target)) <= copied


@pytest.mark.parametrize("target", TARGETS)
def test_formulas_of_one_kernel_stay_in_it(target: str) -> None:
    m = Maker()
    parts = [m.add("Tanh", m.input(f"x{i}", (4, 16))) for i in range(4)]
    assert len(calls_for(m.model(m.add("Concat", *parts, axis=0)), target)) == 1


@pytest.mark.integration
def test_a_table_that_rows_are_written_into_has_no_parts() -> None:
    """An operand is read after the rows are written."""
    m = Maker()
    one, other = (m.add("MatMul", m.input(n, (2, 4)), m.weight(4, 4)) for n in "xy")
    index = m.input("index", (1, 1), T.INT64)
    table = m.add("Concat", one, other, axis=0)
    written = m.add("ScatterND", table, index, m.input("rows", (1, 4)))
    total = m.add("ReduceSum", written, keepdims=1)
    model = m.model(m.add("Mul", one, total))
    rng = np.random.default_rng(1)
    given: dict[str, Any] = {n: rng.standard_normal((2, 4)).astype("f") for n in "xy"}
    given |= {"index": np.zeros((1, 1), np.int64), "rows": np.full((1, 4), 100, np.float32)}
    made = kgen.compile_model(model, ["x86-64-v3"])
    with kgen_runtime.load(made.to_bytes(), device="reference") as kernels:
        found = kernels.program.run(**given)
    np.testing.assert_allclose(found, reference(model, **given), rtol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("is_first", [True, False])
def test_a_state_is_not_moved_in_place(is_first: bool) -> None:
    """A new row goes before the rows of the last run, whichever part is computed first."""
    m = Maker()
    x, past = m.input("x", (1, 4)), m.input("past", (3, 4))
    shown = m.add("Tanh", past)
    start, end, axis = (m.constant([i], np.int64) for i in (0, 2, 0))

    def row() -> Any:
        return m.add("MatMul", x, m.weight(4, 4))

    first = row() if is_first else ""
    others = m.add("Mul", m.add("Slice", past, start, end, axis), m.constant(0.5))
    present = m.add("Concat", first or row(), others, axis=0)
    model = m.model(shown, present)
    made = kgen.compile_model(model, ["x86-64-v3"], states={"past": present})
    rows = np.random.default_rng(1).standard_normal((4, 1, 4)).astype("f")
    state = np.zeros((3, 4), np.float32)
    with kgen_runtime.load(made.to_bytes(), device="reference") as kernels:
        for now in rows:
            found = kernels.program.run(x=now)
            right, state = ReferenceEvaluator(model).run(None, {"x": now, "past": state})
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)


def joined_parts(found: Lowered) -> int:
    return sum(call.writes_behind_start for call in found.calls)


@pytest.mark.parametrize(("columns", "is_joined"), [(4, True), (3, False)])
def test_parts_start_at_multiples_of_the_alignment(columns: int, is_joined: bool) -> None:
    """An operand of 16 bytes or more becomes a kernel of its own if it can be a part."""
    m = Maker()
    product = m.add("MatMul", m.input("x", (1, columns)), m.weight(columns, columns))
    parts = product, m.add("Neg", m.input("y", (2, columns)))
    (target,) = targets_of("sm_80")
    fused = load(m.model(m.add("Concat", *parts, axis=0)), {}, alignment=16)
    found = lowered_for(fused, target)
    assert joined_parts(found) == is_joined and len(found.calls) == 2
