"""Messages of errors: one line of at most 500 characters, with its place and its remedy."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest

import kgen
from kgen.cli.main import main, one_line
from kgen.errors import ArgumentError, GraphError, SpecError
from kgen_runtime import errors
from kgen_runtime.errors import MOST_CHARACTERS, KgenError, UnknownOperation, shortened
from kgen_runtime.kernels import Kernels, Programs
from kgen_runtime.known_names import known_names
from tests.onnx_models import mlp
from tests.unit.runtime.fakes import HostFake, entry, host

#: Names of a large cache.
CACHE = [f"past.{layer}.{kind}" for layer in range(30) for kind in ("key", "value")]
KINDS = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_message_stays_as_it_is(kind: type[KgenError]) -> None:
    words = "a  message of\n two lines; " + "and all that " * 36
    assert str(kind(words)) == words and len(words) < MOST_CHARACTERS
    assert str(kind()) == ""
    assert str(kind(ValueError("of another error"))) == "of another error"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["x" * 300_000, "x y\n" * 90_000, "é" * 501])
def test_a_long_value_loses_its_middle(kind: type[KgenError], value: str) -> None:
    message = str(kind(f"node 7: value {value} is wrong; give another"))
    assert len(message) <= MOST_CHARACTERS and "\n" not in message
    assert message.startswith("node 7: value ") and message.endswith("; give another")
    assert "..." in message


def test_long_words_are_shortened_before_anything_else() -> None:
    """Both ends of long names stay, and all other words."""
    names = [letter * 400 for letter in "ab"]
    message = shortened(f"{names[0]} has 3 dimensions, {names[1]} has 4; make them equal")
    assert " has 3 dimensions, b" in message and message.endswith("b has 4; make them equal")
    assert len(message) < 300


def test_a_message_in_a_message() -> None:
    inner = KgenError("x " * 9000 + "the remedy")
    assert len(str(KgenError(f"file: {inner}"))) <= MOST_CHARACTERS
    assert str(KgenError(f"file: {inner}")).endswith("the remedy")


def test_errors_travel() -> None:
    error = UnknownOperation("no kernel for " + "x" * 3000)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is UnknownOperation and str(again) == str(error)
    assert isinstance(again, AttributeError)


def test_what_the_command_line_prints() -> None:
    line = one_line("a\nb\x1b[31m " + "\x07" * 9000 + " end")
    assert len(line) <= MOST_CHARACTERS and line.isprintable()
    assert line.startswith("a b\\x1b[31m ") and line.endswith(" end")


def test_a_model_that_is_none() -> None:
    with pytest.raises(GraphError, match="is of type GraphProto; give the path of an ONNX file, "):
        kgen.compile_model(mlp().graph, ["x86-64-v3"])


def test_long_names_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = mlp()
    for node in model.graph.node:
        node.op_type, node.name = "Conjure", "n" * 100_000
    onnx.save(model, str(tmp_path / "model.onnx"))
    command = ["compile", str(tmp_path / "model.onnx"), "--target", "x86-64-v3", "-o", "x.kgen"]
    assert main(command) == 2
    assert len(capsys.readouterr().err) <= len("kgen compile: \n") + MOST_CHARACTERS


# -- Messages that name what exists, and what to do


def test_a_kernel_that_is_not_there() -> None:
    """Part of a skipped kernel's name does not match that kernel."""
    skipped = {"sm_80/add_kernel_of_another": "code for another device"}
    kernels = Kernels(
        HostFake(), [*host(entry(), entry(key="scale", op="scale")).values()], skipped
    )
    with pytest.raises(ArgumentError) as refused:
        kernels["add"]
    assert str(refused.value) == "no kernel add on cpu:0; kernels here are add_kernel, scale"
    with pytest.raises(ArgumentError) as refused:
        kernels["add_kernel_of_another"]
    assert str(refused.value) == (
        "no kernel add_kernel_of_another on cpu:0; sm_80/add_kernel_of_another is not used: code "
        "for another device"
    )


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ArgumentError) as refused:
        Programs([], "cpu:0", {"sm_80/main": "code for another device"})["x"]
    assert str(refused.value) == "no program x on cpu:0; there are no programs here"


def test_the_nearest_of_many_names() -> None:
    near = "the nearest of 60 are past.9.key, past.29.key, past.19.key"
    assert known_names("past.9.keys", CACHE, "states") == near
    assert known_names("ids", CACHE) == "known are past.0.key, past.0.value, past.1.key and 57 more"
    assert known_names("k", CACHE[:3], "states") == f"states are {', '.join(CACHE[:3])}"
    assert known_names("k", []) == "there are none"
    assert "past.9.key" in known_names("past.9", CACHE)


def test_a_value_of_an_operand_that_is_not_constant() -> None:
    with pytest.raises(SpecError) as refused:
        kgen.build(kgen.Matmul(m=4, n=4, k=4), "x86-64-v3", constants={"b": np.ones((4, 4))})
    assert str(refused.value) == (
        'constants: b is not a constant operand of matmul_4x4x4_f16_nn; use Matmul(constant=("b",))'
    )


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("x / sum(x)", "column 5: sum is a reduction: use kgen.Rowwise"),
        ("softmax(x)", "column 1: softmax reads whole rows: use kgen.Rowwise"),
    ],
)
def test_a_function_of_rows_in_an_element_wise_formula(expression: str, why: str) -> None:
    with pytest.raises(SpecError) as refused:
        kgen.Elementwise(expression=expression, shapes=((4,),))
    assert str(refused.value) == f"expression={expression!r}: {why}"


def test_a_loaded_bundle_is_not_pickled() -> None:
    kernels = host(*(entry(key=f"kernel_{i}") for i in range(50)))
    with pytest.raises(ArgumentError) as refused:
        pickle.dumps(kernels)
    assert str(refused.value) == (
        "Adding objects cannot be pickled or copied: they belong to one process; load the bundle "
        "in each process"
    )


def test_a_formula_that_nests_too_deeply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: object) -> None:
        raise RecursionError

    onnx.save(mlp(), str(tmp_path / "model.onnx"))
    monkeypatch.setattr("kgen.graph.compile.tied", too_deep)
    with pytest.raises(GraphError, match=r"nests more calls .* split nodes of many inputs"):
        kgen.compile_model(tmp_path / "model.onnx", ["x86-64-v3"])


def test_a_node_that_nests_too_deeply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: object) -> None:
        raise RecursionError

    onnx.save(mlp(), str(tmp_path / "model.onnx"))
    monkeypatch.setattr("kgen.graph.reading.importer._Walk.visit", too_deep)
    with pytest.raises(GraphError, match=r"^node .* nests more deeply .*; split it into several"):
        kgen.compile_model(tmp_path / "model.onnx", ["x86-64-v3"])
