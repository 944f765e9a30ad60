"""Whole models: compiled, run on available devices and emulators, and every step compared with
the model in f64."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import kgen
import kgen_runtime
from kgen.bundle import Bundle
from kgen.check.model.steps import ProgramResult, model_name, verify_program
from kgen.check.model.truth import Truth, truth
from kgen.check.verify.run import opened
from kgen.cli.main import main
from kgen_runtime.schema.program import Program
from tests.onnx_models import DECODER, DECODER_STATES, ENCODER_SHAPES, EXPORTED, Maker, mlp
from tests.onnx_operators import CASES


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "mlp.onnx"
    onnx.save(mlp("batch"), file)
    return file


@pytest.fixture(scope="module")
def made(model: Path) -> Bundle:
    return kgen.compile_model(model, ["native"], shapes={"x": (5, 13)}).bundle


@pytest.fixture(scope="module")
def expected(model: Path, made: Bundle) -> Truth:
    return truth(model, made.manifest.programs[0])


def verified(bundle: Bundle, program: Program, expected: Truth) -> ProgramResult:
    with opened(bundle) as reader:
        return verify_program(reader, program, expected)


def test_a_model_runs(made: Bundle, expected: Truth, tmp_path: Path) -> None:
    program = kgen_runtime.load(made.save(tmp_path / "mlp.kgen"), device="cpu").program
    found = program.run(expected.inputs)
    (exact,) = (expected.exact[o.name] for o in made.manifest.programs[0].outputs)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6)


def test_every_step_is_right(made: Bundle, expected: Truth) -> None:
    (program,) = made.manifest.programs
    found = verified(made, program, expected)
    assert found.passed and len(found.steps) == 3 and len(found.outputs) == 1


def moved(program: Program) -> Program:
    """Return a program in which the second layer reads its bias 4 bytes too early."""
    bias = program.by_name[program.steps[1].bindings["bias"]]
    other = program.by_name[program.steps[0].bindings["bias"]]
    place = dataclasses.replace(other.place, offset=4)
    values = [dataclasses.replace(v, place=place) if v is bias else v for v in program.values]
    return dataclasses.replace(program, values=tuple(values))


def test_a_wrong_step_is_named_with_its_nodes(made: Bundle, expected: Truth) -> None:
    (program,) = made.manifest.programs
    found = verified(made, moved(program), expected)
    wrong = found.first_wrong
    assert not found.passed and wrong is not None
    assert wrong.number == 1 and wrong.nodes == ("/MatMul3", "/Add4")
    assert [step.passed for step in found.steps] == [True, False, True]


def test_a_step_of_another_size_than_the_model_says_is_wrong(made: Bundle, expected: Truth) -> None:
    (program,) = made.manifest.programs
    (output,) = program.outputs
    cut = {**expected.exact, output.name: expected.exact[output.name][:-1]}
    found = verified(made, program, dataclasses.replace(expected, exact=cut)).first_wrong
    size = expected.exact[output.name].size
    assert found is not None and found.number == 2
    less = cut[output.name].size
    assert found.reason == f"{output.name} has {size} elements, {less} in the model"


def test_on_the_command_line(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "m.kgen"
    words = ["compile", str(model), "--target", "native", "-o", str(bundle), "--shape", "x=5x13"]
    assert main([*words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["programs"]
    assert row["steps"] == 3 and row["arena"] >= row["least"] > 0
    np.save(tmp_path / "x.npy", np.ones((5, 13), np.float32))
    given = ["--model", str(model), "--input", f"x={tmp_path / 'x.npy'}"]
    assert main(["verify", str(bundle), *given, "--json"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    assert program["passed"] and program["steps"] == 3
    assert program["wrong"] == [] and "nodes" not in program
    assert main(["verify", str(bundle), *given, "--nodes", "--json"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    assert [step["nodes"] for step in program["nodes"]][1] == ["/MatMul3", "/Add4"]
    assert main(["verify", str(bundle), *given, "--nodes"]) == 0
    assert capsys.readouterr().out.count("passed") == 3 + 3 + 1  # Kernels, steps, the program.
    assert main(["verify", str(bundle), "--nodes"]) == 2
    assert "--nodes needs --model MODEL.onnx; add it" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.ones((4, 13), np.float32))
    assert main(["verify", str(bundle), *given]) == 2
    assert "x.npy is 4x13 float32; expected 5x13 f32" in capsys.readouterr().err
    assert main(["verify", str(bundle), "--model", str(EXPORTED["dynamo"])]) == 2
    assert "has no input x, which the program has" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("opset", "operator", "scales", "attributes"),
    [
        (11, "Softmax", None, {}),
        (11, "LogSoftmax", None, {"axis": 2}),
        (17, "Resize", [1, 1, 1.7, 0.6], {"mode": "linear"}),
    ],
)
def test_what_onnx_computes_otherwise(
    opset: int, operator: str, scales: list[float] | None, attributes: Any, tmp_path: Path
) -> None:
    """Cases: the axes of an old Softmax, and elements between aligned corners."""
    m = Maker(opset)
    given = ["", m.constant(scales)] if scales else []
    more: Any = {"coordinate_transformation_mode": "align_corners"} if scales else {}
    y = m.add(operator, m.input("x", (1, 2, 4, 5)), *given, **attributes, **more)
    onnx.save(m.model(y), tmp_path / "m.onnx")
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle
    (program,) = bundle.manifest.programs
    assert verified(bundle, program, truth(tmp_path / "m.onnx", program)).passed


def by_function(m: Maker, x: str) -> str:
    """Return a model with a function of opset 11, whose Softmax covers all axes from the second
    on."""
    m.nodes.append(onnx.helper.make_node("f", [x], ["y"], domain="own"))
    return str(m.add("Neg", "y"))


def by_bodies(m: Maker, x: str) -> str:
    """Return a model of operators without kernels of their own."""
    y = m.add("GroupNormalization", x, m.weight(2), m.weight(2), num_groups=2)
    return str(m.add("Neg", m.add("ThresholdedRelu", y, alpha=0.25)))


@pytest.mark.parametrize("make", [by_function, by_bodies])
def test_bodies_of_functions_and_operators(make: Any, tmp_path: Path) -> None:
    """Verification computes them by onnx's and our definitions, without inlining."""
    m = Maker(21)
    model = m.model(make(m, m.input("x", (2, 2, 4, 5))))
    imports = [onnx.helper.make_opsetid("", 11)]
    nodes = [onnx.helper.make_node("Softmax", ["a"], ["b"])]
    model.functions.append(onnx.helper.make_function("own", "f", ["a"], ["b"], nodes, imports))
    model.opset_import.append(onnx.helper.make_opsetid("own", 1))
    onnx.save(model, tmp_path / "m.onnx")
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"]).bundle
    (program,) = bundle.manifest.programs
    result = verified(bundle, program, truth(tmp_path / "m.onnx", program))
    assert result.passed, result
    wide = truth(model, program).exact[model.graph.output[0].name]
    assert wide.dtype == np.float64


@pytest.mark.parametrize(
    ("operator", "gates", "functions"),
    [
        ("LSTM", 4, ("Softsign", "Relu", "Sigmoid")),
        ("GRU", 3, ("Softsign", "Relu")),
        ("RNN", 1, ("Relu",)),
    ],
)
def test_functions_that_recurrent_layers_name(
    operator: str, gates: int, functions: tuple[str, ...], tmp_path: Path
) -> None:
    """Each direction has other activation functions. Both write their last states into one
    tensor."""
    m = Maker()
    weights = m.weight(2, gates * 8, 4), m.weight(2, gates * 8, 8), m.weight(2, gates * 16)
    named = [*functions, *reversed(functions)]
    way: Any = {"hidden_size": 8, "direction": "bidirectional", "activations": named}
    outputs = 3 if operator == "LSTM" else 2
    results = m.add(operator, m.input("x", (3, 2, 4)), *weights, outputs=outputs, **way)
    onnx.save(m.model(*results), tmp_path / "m.onnx")
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle
    (program,) = bundle.manifest.programs
    assert verified(bundle, program, truth(tmp_path / "m.onnx", program)).passed


@pytest.mark.parametrize(("opset", "axis"), [(10, None), (13, 0), (17, -1)])
def test_weights_that_were_quantised_before_opset_19(
    opset: int, axis: int | None, tmp_path: Path
) -> None:
    m = Maker(opset)
    numbers = m.rng.integers(-127, 128, (3, 5))
    count: Any = () if axis is None else numbers.shape[axis]
    scale, zero = m.rng.uniform(0.01, 0.03, count).astype("f"), m.rng.integers(-9, 9, count)
    given = [m.constant(numbers, np.int8), m.constant(scale), m.constant(zero, np.int8)]
    more = {} if axis is None else {"axis": axis}
    weights = m.add("DequantizeLinear", *given, **more)
    y = m.add("MatMul", m.input("x", (2, 3)), weights)
    onnx.save(m.model(y), tmp_path / "m.onnx")
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle
    (program,) = bundle.manifest.programs
    expected = truth(tmp_path / "m.onnx", program)
    found = verified(bundle, program, expected)
    assert found.passed and len(found.steps) == 1
    if axis == 0:
        scale, zero = scale[:, None], zero[:, None]
    exact = expected.inputs["x"].astype(float) @ ((numbers - zero) * scale.astype(float))
    np.testing.assert_allclose(expected.exact[y], exact, rtol=1e-6)


TARGETS = ["x86-64-v3", "vulkan1.3", "sm_80", "gfx942"]


@pytest.mark.slow
@pytest.mark.parametrize("exporter", EXPORTED)
def test_an_encoder_on_every_family(exporter: str) -> None:
    """Two layers, exported by PyTorch, on the CPU, on lavapipe and in the emulators."""
    targets = TARGETS if exporter == "dynamo" else TARGETS[:1]
    shapes: Any = ENCODER_SHAPES if exporter == "torchscript" else {}
    bundle = kgen.compile_model(EXPORTED[exporter], targets, shapes=shapes).bundle
    expected = truth(EXPORTED[exporter], bundle.manifest.programs[0])
    for program in bundle.manifest.programs:
        found = verified(bundle, program, expected)
        assert found.passed, (found.target, found.first_wrong, found.outputs, found.reason)
        assert len(found.steps) == 22


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "targets", "steps"),
    [("step", ["x86-64-v3", "vulkan1.3", "sm_80"], 33), ("prefill", ["x86-64-v3", "gfx942"], 31)],
)
def test_a_decoder_on_every_family(name: str, targets: list[str], steps: int) -> None:
    states = DECODER_STATES if name == "step" else {}
    bundle = kgen.compile_model(DECODER[name], targets, states=states).bundle
    expected = truth(DECODER[name], bundle.manifest.programs[0])
    for program in bundle.manifest.programs:
        found = verified(bundle, program, expected)
        assert found.passed, (found.target, found.first_wrong, found.outputs, found.reason)
        # The mask of a step becomes the number of valid keys, and is not computed.
        assert len(found.steps) == steps
        assert len(found.outputs) == 5


@pytest.mark.slow
def test_a_wrong_plan_of_memory_is_found() -> None:
    """Queries overwrite the layer's input, which the residual reads later."""
    bundle = kgen.compile_model(EXPORTED["dynamo"], ["native"]).bundle
    (program,) = bundle.manifest.programs
    kept, queries = (program.by_name[program.steps[i].bindings["out"]] for i in (1, 4))
    by = kept.place.offset - queries.place.offset
    name = model_name(queries.name)
    values = tuple(
        dataclasses.replace(v, place=dataclasses.replace(v.place, offset=v.place.offset + by))
        if model_name(v.name) == name
        else v
        for v in program.values
    )
    expected = truth(EXPORTED["dynamo"], program)
    assert verified(bundle, program, expected).passed
    found = verified(bundle, dataclasses.replace(program, values=values), expected)
    wrong = found.first_wrong
    assert wrong is not None and wrong.number == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["Conv, block", "ConvTranspose, padded", "Resize, linear", "LSTM, both", "ScatterND",
     "If, data"],
)  # fmt: skip
def test_operators_on_every_family(name: str, tmp_path: Path) -> None:
    m, file = Maker(), tmp_path / "case.onnx"
    onnx.save(m.model(CASES[name](m)), file)
    bundle = kgen.compile_model(file, TARGETS).bundle
    expected = truth(file, bundle.manifest.programs[0])
    for program in bundle.manifest.programs:
        found = verified(bundle, program, expected)
        assert found.passed, (found.target, found.first_wrong, found.outputs, found.reason)
