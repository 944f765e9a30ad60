"""Caches into which a run writes rows: in place, in each way that exporters write them, or in a
copy if old rows are read later."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto as T

import kgen
import kgen_runtime
from kgen.bundle import Bundle
from kgen.check.model.steps import verify_program
from kgen.check.model.truth import truth
from kgen.check.verify.run import opened
from kgen.program import check_programs
from kgen_runtime.errors import ArgumentError, BundleError
from kgen_runtime.schema.program import Place, Program
from tests.onnx_models import Maker

PLACES, HEADS, HEAD = 8, 2, 4


def cached(way: str) -> onnx.ModelProto:
    """Return a cache with a row of x at `pos`, and the new cache's largest numbers."""
    m = Maker(opset=24)
    shape = (PLACES, HEADS, HEAD) if way in ("where", "twice") else (1, HEADS, PLACES, HEAD)
    x, pos, past = (
        m.input("x", (1, HEADS, HEAD)),
        m.input("pos", (1,), T.INT64),
        m.input("past", shape),
    )
    row = m.add("Mul", m.add("Tanh", x), m.weight(HEAD))
    at = m.add("Reshape", pos, m.constant([1, 1], np.int64))
    heads_first = m.add("Reshape", row, m.constant([1, HEADS, 1, HEAD], np.int64))
    if way == "where":
        here = m.add("Equal", m.constant(np.arange(PLACES), np.int64), pos)
        here = m.add("Reshape", here, m.constant([PLACES, 1, 1], np.int64))
        made = m.add("Where", here, row, past)
    elif way == "index_put":
        turned = m.add("Transpose", past, perm=[2, 0, 1, 3])
        placed = m.add("Transpose", heads_first, perm=[2, 0, 1, 3])
        made = m.add("ScatterND", turned, at, placed)
        made = m.add("Transpose", made, perm=[1, 2, 0, 3])
    elif way == "scatter_elements":
        every = m.add("Expand", m.add("Reshape", pos, m.constant([1, 1, 1, 1], np.int64)),
                      m.constant([1, HEADS, 1, HEAD], np.int64))  # fmt: skip
        made = m.add("ScatterElements", past, every, heads_first, axis=2)
    elif way == "tensor_scatter":
        made = m.add("TensorScatter", past, heads_first, pos)
    else:
        first = m.add("ScatterND", past, at, row)
        made = m.add("ScatterND", first, m.constant([[0]], np.int64), m.add("Neg", row))
    y = m.add("ReduceMax", made, m.constant([0], np.int64), keepdims=0)
    if way == "twice":
        y = m.add("Add", y, m.add("ReduceMax", past, m.constant([0], np.int64), keepdims=0))
    return m.model(y, made)


def compiled(model: onnx.ModelProto, path: Path, *targets: str, state: bool = True) -> Bundle:
    onnx.save(model, path)
    states = {"past": model.graph.output[1].name} if state else {}
    return kgen.compile_model(path, targets, states=states).bundle


def scatters(program: Program) -> list[str]:
    return [step.kernel.split("_")[0] for step in program.steps]


WAYS = ("where", "index_put", "scatter_elements", "tensor_scatter")


@pytest.mark.parametrize("way", [*WAYS, "twice"])
@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_a_row_is_written_into_the_state(way: str, device: str, tmp_path: Path) -> None:
    model = cached(way)
    target = {"cpu": "native", "vulkan": "vulkan1.3"}[device]
    made = compiled(model, tmp_path / "m.onnx", target)
    (entry,) = made.manifest.programs
    assert scatters(entry).count("scatter") == (2 if way == "twice" else 1)
    assert ("cast" in scatters(entry)) is (way == "twice")
    program = kgen_runtime.load(made.save(tmp_path / "m.kgen"), device=device).program
    reference = onnx.reference.ReferenceEvaluator(model)
    rng = np.random.default_rng(0)
    shape = [d.dim_value for d in model.graph.input[2].type.tensor_type.shape.dim]
    state = rng.standard_normal(shape, np.float32)
    program.set_states({"past": state})
    for pos in (3, 0, PLACES - 1, 3):
        given = {"x": rng.standard_normal((1, HEADS, HEAD), np.float32), "pos": np.array([pos])}
        expected, state = reference.run(None, {**given, "past": state})
        np.testing.assert_allclose(program.run(given), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_no_row_is_written_out_of_range(way: str, tmp_path: Path) -> None:
    """A run refuses a position past the cache if few integers determine it; a prepared call then
    writes nothing. For ONNX's scatters -1 is the last position; if positions are compared, it is
    none."""
    made = compiled(cached(way), tmp_path / "m.onnx", "native")
    program = kgen_runtime.load(made.save(tmp_path / "m.kgen"), device="cpu").program
    x = np.ones((1, HEADS, HEAD), np.float32)
    place = np.zeros(1, np.int64)
    call = program.prepare(x=x, pos=place)
    for pos in (PLACES, -PLACES - 1, 1 << 33, -(1 << 62)):
        if way == "scatter_elements" or (way == "where" and pos < 0) or pos == -PLACES - 1:
            assert not np.any(program.run(x=x, pos=np.array([pos])))
        else:
            with pytest.raises(ArgumentError, match=f"selects position {pos} of the state past"):
                program.run(x=x, pos=np.array([pos]))
        place[:] = pos
        assert not np.any(call())
    last = program.run(x=x, pos=np.array([-1]))
    assert bool(np.any(last)) is (way != "where")


def test_a_cache_that_is_no_state_is_copied(tmp_path: Path) -> None:
    """The cache is an input and an output; the `where` stays one kernel."""
    for way, kernels in (("where", 0), ("index_put", 1)):
        model = cached(way)
        made = compiled(model, tmp_path / "m.onnx", "native", state=False)
        (entry,) = made.manifest.programs
        assert scatters(entry).count("scatter") == scatters(entry).count("cast") == kernels
        program = kgen_runtime.load(made.save(tmp_path / "m.kgen"), device="cpu").program
        rng = np.random.default_rng(1)
        given = {
            value.name: rng.standard_normal(value.shape, np.float32)
            for value in entry.inputs
            if value.name != "pos"
        }
        before = given["past"].copy()
        found = program.run(given, pos=np.array([2]))
        expected = onnx.reference.ReferenceEvaluator(model).run(
            None, {**given, "pos": np.array([2])}
        )
        for one, other in zip(found.values(), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(given["past"], before)


def test_rows_on_every_family(tmp_path: Path) -> None:
    """Each step and the whole program are verified; a program that writes another row is
    refused."""
    file = tmp_path / "m.onnx"
    made = compiled(cached("index_put"), file, "native", "sm_80", "gfx942", "vulkan1.3")
    expected = truth(file, made.manifest.programs[0], given={"pos": np.array([5])})
    for program in made.manifest.programs:
        with opened(made) as reader:
            found = verify_program(reader, program, expected)
        assert found.passed, (found.target, found.first_wrong, found.outputs, found.reason)
    program = made.manifest.programs[0]
    number = scatters(program).index("scatter")
    step, values = program.steps[number], program.by_name
    name, table = next(
        (name, values[v]) for name, v in step.bindings.items() if values[v].place.kind == "state"
    )
    elsewhere = dataclasses.replace(table, name="elsewhere", place=Place(kind="arena"))
    steps = list(program.steps)
    steps[number] = dataclasses.replace(step, bindings={**step.bindings, name: elsewhere.name})
    apart = dataclasses.replace(
        program, values=(*program.values, elsewhere), arena_bytes=1 << 12, steps=tuple(steps)
    )
    with pytest.raises(BundleError, match="but its output is elsewhere"):
        check_programs([apart], made.manifest.kernels)
