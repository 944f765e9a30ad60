"""Attention that models write out, compiled and run on this CPU, and verified step by step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx.reference import ReferenceEvaluator

import kgen
import kgen_runtime
from kgen import pipeline
from kgen.check.model.truth import evaluator, in_f64
from kgen.cli.main import main
from kgen.cli.model_check import verified
from kgen.graph.compile import CompiledModel
from kgen.spec import Attention
from kgen.targets.base import Source
from tests import needs
from tests.onnx_models import Maker
from tests.unit.graph.test_attention import (
    capped,
    data,
    in_turn,
    padding,
    plus,
    times,
    triangle,
    written,
)
from tests.unit.graph.test_fuse import attention as grouped

V3 = "x86-64-v3"
LONG = (2, 3, 40, 70, 16)
MODELS = {
    "padding": (written(in_turn(times(0.25), padding)), 1),
    "mask": (written(in_turn(times(0.25), plus((2, 1, 40, 70))), sizes=LONG), 1),
    "causal": (
        written(
            lambda m, x: str(m.add("Add", x, m.constant(triangle(-np.inf, 30, 40, 70)))), sizes=LONG
        ),
        1,
    ),
    "cap": (written(in_turn(times(0.25), capped), sizes=LONG), 1),
    "shared keys": (grouped(2, 4, 2, 33, 70), 1),
    "one query": (grouped(1, 8, 2, 1, 300), 1),
}


def compiled(model: onnx.ModelProto, tmp_path: Path) -> CompiledModel:
    """Compile the model with every attention as one kernel."""
    onnx.save(model, tmp_path / "model.onnx")
    return kgen.compile_model(model, [needs.cpu(V3).name])


@pytest.fixture
def one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make predictions in which attention takes no time."""
    from kgen.targets.cpu import CpuFamily

    monkeypatch.setattr(
        CpuFamily, "predicted_seconds", lambda self, target, spec: float(spec.op != "attention")
    )


@pytest.mark.usefixtures("one_kernel")
@pytest.mark.parametrize("name", MODELS)
def test_models_run(name: str, tmp_path: Path) -> None:
    model, count = MODELS[name]
    made = compiled(model, tmp_path).bundle
    assert sum(entry.spec["op"] == "attention" for entry in made.manifest.kernels) == count
    assert not any(entry.spec["op"] == "matmul" for entry in made.manifest.kernels)
    (result,) = verified(made, str(tmp_path / "model.onnx"))
    assert result.passed, result.to_json()
    inputs: Any = data(model)
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    with kgen_runtime.load(made.save(tmp_path / "m.kgen"), device="cpu", num_threads=2) as kernels:
        np.testing.assert_allclose(kernels.program.run(**inputs), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("one_kernel")
def test_products_of_16_bits(tmp_path: Path) -> None:
    """Weights are rounded to bf16, and multiplied by V in a separate product."""
    model, _ = MODELS["mask"]
    onnx.save(model, tmp_path / "model.onnx")
    made = kgen.compile_model(model, [needs.cpu(V3).name], products="bf16").bundle
    assert not any(entry.spec["op"] == "attention" for entry in made.manifest.kernels)
    (result,) = verified(made, str(tmp_path / "model.onnx"))
    assert result.passed, result.to_json()


#: Bugs of a kernel: text that is replaced.
BUGS = {
    "scale": (r"(%r\.x0\.scaled = fmul .*), splat.*", r"\1, splat (float 1.0)"),
    "mask of another query": (r"(%r\.mask\.offset = mul nuw i64 %r\.i), \d+", r"\1, 0"),
    "last key": (r"%last\.key = sub i64 %keys\.stop, 1", r"%last.key = sub i64 %keys.stop, 3"),
}  # fmt: skip


@pytest.mark.usefixtures("one_kernel")
@pytest.mark.parametrize("name", BUGS)
def test_a_wrong_step_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pipeline.source

    def broken(plan: Any) -> Source:
        found = source(plan)
        if not isinstance(plan.spec, Attention):
            return found
        text, count = re.subn(*BUGS[name], found.text)
        assert count, name
        return Source(text=text, extension=found.extension, entry_point=found.entry_point)

    monkeypatch.setattr(pipeline, "source", broken)
    model, _ = MODELS["mask"]
    onnx.save(model, tmp_path / "model.onnx")
    made = kgen.compile_model(model, [needs.cpu(V3).name], cache=False).bundle
    (result,) = verified(made, str(tmp_path / "model.onnx"))
    assert not result.passed and result.first_wrong is not None


def test_targets_of_one_compilation() -> None:
    """Each target has its own form: one kernel on sm_80, separate steps on Vulkan for CPUs."""
    model, _ = MODELS["mask"]
    names = ["sm_80", "vulkan1.3+cpu", V3]
    made = kgen.compile_model(model, names)
    for name, ops in (("sm_80", ["attention"]), (names[1], ["matmul", "rowwise", "matmul"])):
        (choice,) = made.lowered[name].choices
        assert choice.is_one_kernel is (len(ops) == 1)
        assert [call.spec.op for call in made.lowered[name].calls] == ops
    (choice,) = made.lowered[V3].choices
    ops = [call.spec.op for call in made.lowered[V3].calls]
    assert ("attention" in ops) is choice.is_one_kernel


def test_explanation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(MODELS["mask"][0], "m.onnx")
    assert main(["compile", "m.onnx", "--target", V3, "--explain", "-o", "m.kgen"]) == 0
    lines = capsys.readouterr().out.splitlines()
    header = re.split(r"  +", lines[0])
    columns = ["target", "q", "k", "count", "one kernel (us)", "steps (us)"]
    assert header == [*columns, "at least (us)", "steps at least (us)", "choice"]
    assert lines[2].split()[:4] == [V3, "2x3x40x16", "2x3x70x16", "1"]
    assert all(map(float, lines[2].split()[4:8]))
    # No cost model ranks the softmax of sm_80.
    assert main(["compile", "m.onnx", "--target", "sm_80", "--explain", "-o", "m.kgen"]) == 0
    lines = capsys.readouterr().out.splitlines()
    one, steps, *least = lines[2].split()[4:8]
    assert steps == "-" and min(map(float, (one, *least))) > 0.0
    assert lines[2].endswith("one kernel")


def decoder(queries: int, rows: int) -> tuple[onnx.ModelProto, dict[str, str]]:
    """Return two layers of packed QKV and GroupQueryAttention, as onnxruntime-genai writes them,
    and the names of the states. Lengths come from a mask of all rows."""
    m, (heads, few, size) = Maker(opset=21), (4, 2, 16)
    width, states = heads * size, dict[str, str]()
    x = m.input("x", (1, queries, width))
    count = m.add("ReduceSum", m.input("mask", (1, rows), T.INT64), m.constant([1], np.int64))
    last = m.add("Cast", m.add("Sub", count, m.constant([1], np.int64)), to=T.INT32)
    angles = np.arange(rows)[:, None] / 10.0 ** (np.arange(size // 2) / 8)
    tables = m.constant(np.cos(angles)), m.constant(np.sin(angles))
    total = m.constant(rows, np.int32)
    for layer in range(2):
        joined = m.add("MatMul", x, m.weight(width, width + 2 * few * size))
        pasts = [m.input(f"past.{layer}.{which}", (1, few, rows, size)) for which in "kv"]
        found, *presents = m.add(
            "GroupQueryAttention", joined, "", "", *pasts, last, total, *tables, outputs=3,
            domain="com.microsoft", num_heads=heads, kv_num_heads=few, do_rotary=1,
        )  # fmt: skip
        states |= dict(zip(pasts, presents, strict=True))
        x = m.add("Add", x, m.add("MatMul", found, m.weight(width, width)))
    model = m.model(x, *states.values())
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return model, states


def test_a_decoder_of_onnx_runtime_step_by_step() -> None:
    """A prompt and three steps with one cache give the results of all rows at once."""
    rows, prompt = 12, 5
    x = np.random.default_rng(3).standard_normal((1, prompt + 3, 64)).astype(np.float32)

    def mask(length: int) -> np.ndarray[Any, Any]:
        return np.asarray(np.arange(rows) < length, np.int64)[None]

    whole, states = decoder(prompt + 3, rows)
    given = {name: np.zeros((1, 2, rows, 16)) for name in states}
    wide = {"x": x.astype(np.float64), "mask": mask(prompt + 3), **given}
    expected = evaluator(in_f64(whole)).run(None, wide)[0]
    found, known = [], dict[str, Any]()
    for queries, ends in ((prompt, [prompt]), (1, range(prompt + 1, prompt + 4))):
        model, states = decoder(queries, rows)
        made = kgen.compile_model(model, [needs.cpu(V3).name], states=states)
        with kgen_runtime.load(made.to_bytes(), device="cpu") as kernels:
            session = kernels.program.session()
            session.set_states(known)
            for end in ends:
                found.append(session.run(x=x[:, end - queries : end], mask=mask(end)))
            known = {name: session.get_state(name) for name in states}
    np.testing.assert_allclose(np.concatenate(found, 1), expected, rtol=1e-4, atol=1e-5)
