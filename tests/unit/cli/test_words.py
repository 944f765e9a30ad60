"""Accepted words: other names of functions and types, a grid of 4x1, named dimensions."""

from __future__ import annotations

import json
from multiprocessing import synchronize
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.check.gate.foreign import extent
from kgen.cli.main import main
from kgen.errors import GraphError, SpecError
from kgen.parallel import children, executors
from kgen_runtime.bundle import BundleFile
from kgen_runtime.errors import ArgumentError
from tests.onnx_models import Maker


def test_swish_is_silu() -> None:
    for text in ("{}(x)", "h = {}(x); h * {}(h)", "relu({}(x) + 1)"):
        named, known = (
            kgen.Elementwise(expression=text.replace("{}", name), shapes=((8,),), dtype="f32")
            for name in ("swish", "silu")
        )
        assert named == known and named.key == known.key
    for epilogue in ("swish", ("bias", "swish"), "swish(x + bias)", "bias,swish"):
        silu: Any = (
            epilogue.replace("swish", "silu") if isinstance(epilogue, str) else ("bias", "silu")
        )
        made = [
            kgen.Matmul(m=8, n=8, k=8, epilogue=text)  # type: ignore[arg-type]
            for text in (epilogue, silu)
        ]
        assert made[0].key == made[1].key and made[0].to_json() == made[1].to_json()


@pytest.mark.parametrize(
    ("word", "dtype"), [("half", "f16"), ("double", "f64"), ("i8", "s8"), ("i32", "s32")]
)
def test_other_names_of_types(word: str, dtype: str) -> None:
    assert kgen.DType(word) is kgen.DType(dtype)
    spec = kgen.Elementwise(expression=f"cast(x, {word})", shapes=((8,),), dtype="f32")
    assert (
        spec.key
        == kgen.Elementwise(expression=f"cast(x, {dtype})", shapes=((8,),), dtype="f32").key
    )


@pytest.mark.integration
def test_these_words_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["build", "--op", "swish", "--shape", "8", "--dtype", "half", "--out-dtype", "i8"]
    path = tmp_path / "k.kgen"
    assert main([*command, "--target", "x86-64-v3", "-o", str(path)]) == 0, capsys.readouterr()
    with BundleFile(path) as bundle:
        (entry,) = bundle.manifest.kernels
    assert entry.key == "silu_8_f16_to_s8" and "swish" not in json.dumps(dict(entry.spec))


@pytest.mark.integration
def test_the_number_that_pads_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The option takes a number or an operand of the kernel, and no other word."""
    path = tmp_path / "k.kgen"
    command = ["build", "--op", "conv2d", "--shape", "1x4x5x5,4x4x3x3", "--dtype", "s8"]
    command += ["--padding", "1", "--target", "x86-64-v3", "-o", str(path), "--padding-value"]
    for word, operands in (("-3", ["a", "b", "out"]), ("padding", ["a", "b", "padding", "out"])):
        assert main([*command, word]) == 0, capsys.readouterr()
        with BundleFile(path) as bundle:
            (entry,) = bundle.manifest.kernels
        assert [parameter.name for parameter in entry.parameters] == operands
    assert main([*command, "zero"]) == 2
    said = capsys.readouterr().err
    assert "padding_value='zero' is not an integer; give -128 to 127, or padding for an" in said


@pytest.mark.parametrize("text", ["4,2", "4x2", "4X2", "4x2x1", "4,2x1"])
def test_a_grid_is_written_either_way(text: str) -> None:
    assert extent("grid", text) == (4, 2, 1)


@pytest.mark.parametrize("text", ["4x", "x", "4x0", "1x1x1x1"])
def test_what_is_no_grid(text: str) -> None:
    with pytest.raises(SpecError, match="grid"):
        extent("grid", text)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model of two inputs that share a named dimension."""
    m = Maker()
    y = m.add("Add", m.linear(m.input("x", ("batch", 16)), 16, 4), m.input("y", ("batch", "n")))
    path = tmp_path / "m.onnx"
    path.write_bytes(m.model(y).SerializeToString())
    return path


@pytest.mark.integration
@pytest.mark.parametrize(
    "shapes",
    [
        {"batch": 8, "n": 4},
        {"batch": np.int64(8), "n": (4,)},
        {"batch": 8, "y": (8, 4)},
        {"x": (8, 16), "y": (8, 4)},
    ],
)
def test_a_named_dimension_is_fixed(model: Path, shapes: Any) -> None:
    compiled = kgen.compile_model(model, targets="x86-64-v3", shapes=shapes)
    (program,) = compiled.bundle.manifest.programs
    assert [value.shape for value in program.inputs] == [(8, 16), (8, 4)]


@pytest.mark.integration
def test_a_named_dimension_on_the_command_line(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.kgen"
    command = ["compile", str(model), "--target", "x86-64-v3", "-o", str(path), "--jobs", "1"]
    assert main([*command, "--shape", "batch=8,n=4"]) == 0
    with kgen_runtime.load(path, device="reference") as kernels:
        assert repr(kernels.program.inputs) == "(x: 8x16 f32, y: 8x4 f32)"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({}, "give --shape x=batchx16 --shape y=batchxn with numbers, or --shape batch=8"),
        ({"batch": 8}, "shapes open: y=8xn; give --shape y=8xn with numbers, or --shape n=8"),
        ({"bath": 8}, "no such input or dimension; it has the inputs x, y and the dimensions bat"),
        ({"batch": (8, 16)}, "--shape batch=8x16: batch is a dimension; give one size, such as"),
        ({"batch": 8, "x": (4, 16), "n": 4}, "--shape x=4x16 does not fit the model's 8x16"),
        ({"batch": -1}, "batch has a size of -1; it must be 0 to"),
        ({"batch": "8"}, "not a mapping of names to sizes"),
    ],
)
def test_dimensions_that_do_not_fit(model: Path, shapes: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        kgen.compile_model(model, targets="x86-64-v3", shapes=shapes)


@pytest.mark.integration
def test_another_length_at_run_time_says_how_to_compile_for_it(model: Path) -> None:
    compiled = kgen.compile_model(model, targets="x86-64-v3", shapes={"batch": 8, "n": 4})
    with kgen_runtime.load(compiled.to_bytes(), device="reference") as kernels:
        x, y = np.ones((4, 16), "f"), np.ones((8, 4), "f")
        with pytest.raises(
            ArgumentError,
            match=r"^main: x has shape 4x16; expected 8x16; pass that shape or recompile with "
            r"--shape x=4x16$",
        ):
            kernels.program.run(x=x, y=y)
        with pytest.raises(ArgumentError, match=r"x has shape 16; expected 8x16; pass that shape$"):
            kernels.program.run(x=x[0], y=y)


@pytest.mark.integration
def test_without_shared_semaphores_one_process_does_the_work(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only /dev/shm allows no pool of processes."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(synchronize.SemLock, "__init__", refused)
    children.can_share.cache_clear()
    try:
        with executors.processes(4) as pool:
            assert pool is None
        command = ["compile", str(model), "--target", "x86-64-v3", "--shape", "batch=8,n=4"]
        path = tmp_path / "m.kgen"
        assert main([*command, "--jobs", "4", "--no-cache", "-o", str(path)]) == 0
        assert path.exists()
    finally:
        children.can_share.cache_clear()
