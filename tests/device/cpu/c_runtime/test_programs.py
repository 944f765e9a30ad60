"""Programs run by the C runtime give the bits of the Python runtime, and the right result."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import kgen
import kgen_runtime
from kgen import bundle, pipeline, targets
from kgen.check.model.truth import truth
from kgen_runtime.dtypes import DType
from kgen_runtime.schema.program import Program, Step
from tests.device.cpu.c_runtime.compiled import (
    SANITIZED,
    Driver,
    compiled,
    program_files,
    run,
    values,
    write,
)
from tests.device.cpu.c_runtime.test_kernels import SPLIT
from tests.programs import ROWS, WIDE, answer, mlp_bundle, parameters, value
from tests.unit.runtime.bundle.zips import zipped
from tests.unit.runtime.test_checked_indices import lengths_of_attention

Array = np.ndarray[Any, Any]
X = np.random.default_rng(7).standard_normal((ROWS, WIDE)).astype("f")
ENCODER = Path(__file__).parents[4] / "examples" / "encoder.onnx"
#: Runs that try each launch alone and shared, and some after that.
RUNS = 20


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mlp_bundle("x86-64-v3").save(tmp_path_factory.mktemp("mlp") / "mlp.kgen")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = kgen.compile_model(ENCODER, ["native"]).bundle
    return made.save(tmp_path_factory.mktemp("encoder") / "encoder.kgen")


def by_python(path: Path, inputs: Mapping[str, Array] | None = None) -> tuple[Any, Any, Any]:
    """Return the program's entry, random inputs, and the Python runtime's outputs by name."""
    with kgen_runtime.load(path, device="cpu", num_threads=1) as kernels:
        program = kernels.program
        rng = np.random.default_rng(5)
        given = inputs or {v.name: values(rng, v.dtype, v.shape) for v in program.entry.inputs}
        found = program.run(given)
    if not isinstance(found, dict):
        found = {program.entry.outputs[0].name: found}
    return program.entry, given, found


def check_outputs(program: Any, files: list[Path], wanted: Mapping[str, Array]) -> None:
    outputs = files[len(program.inputs) :]
    assert len(outputs) == len(wanted) > 0
    for output, file in zip(program.outputs, outputs, strict=True):
        assert file.read_bytes() == wanted[output.name].tobytes()
        values = np.asarray(wanted[output.name])
        assert np.isfinite(values).all() and values.std() > 0  # numbers that say something


@pytest.mark.parametrize("threads", [1, 3])
def test_an_mlp(sanitized: Driver, mlp: Path, threads: int, tmp_path: Path) -> None:
    program, given, wanted = by_python(mlp, {"x": X})
    files = program_files(program, given, tmp_path)
    for source, name in ((mlp, ""), (f"memory:{mlp}", "main")):
        sanitized.done(source, "program", name, RUNS, *files, threads=threads)
        check_outputs(program, files, wanted)
    found = np.fromfile(files[-1], "f").reshape(ROWS, WIDE)
    np.testing.assert_allclose(found, answer(X, parameters()), rtol=2e-5, atol=2e-5)


@pytest.fixture(scope="module")
def exact(encoder: Path) -> Any:
    """Return the model's inputs and outputs, by onnx's reference in f64."""
    with kgen_runtime.load(encoder, device="cpu") as kernels:
        return truth(ENCODER, kernels.program.entry)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_model(
    sanitized: Driver, encoder: Path, exact: Any, threads: int, tmp_path: Path
) -> None:
    program, given, wanted = by_python(encoder, exact.inputs)
    files = program_files(program, given, tmp_path)
    sanitized.done(encoder, "program", "", RUNS, *files, threads=threads)
    check_outputs(program, files, wanted)
    (output,) = program.outputs
    found = np.fromfile(files[-1], "f").reshape(output.shape)
    np.testing.assert_allclose(found, exact.exact[output.name], rtol=1e-3, atol=1e-4)


def test_states(sanitized: Driver, decoder: Path, tmp_path: Path) -> None:
    """States keep their values from run to run, and are zero after a reset."""
    with kgen_runtime.load(decoder, device="cpu", num_threads=1) as kernels:
        program = kernels.program
        given = {"ids": np.array([[3]]), "pos": np.array([0])}
        one = program.run(given)
        program.reset()
        for _ in range(3):
            three = program.run(given)
        entry = program.entry
    files = program_files(entry, given, tmp_path)
    after = [tmp_path / f"reset-{i}" for i in range(len(entry.outputs))]
    sanitized.done(decoder, "states", "", 3, *files, *after)
    check_outputs(entry, files, {entry.outputs[0].name: three})
    assert after[0].read_bytes() == one.tobytes()
    # Each run has seen the same token at the same place: what it keeps is the same.
    listed = sanitized.done(decoder, "list")
    assert listed.count("  state past.") == len(entry.states) == 4


def test_states_by_name(folder: Path, decoder: Path) -> None:
    run([str(compiled(folder, "states", SANITIZED)), str(decoder)])


@pytest.mark.parametrize("threads", [1, 3])
def test_sessions_at_once(
    plain: Driver,
    raced: Driver,
    encoder: Path,
    exact: Any,
    mlp: Path,
    threads: int,
    tmp_path: Path,
) -> None:
    """Sessions share only weights and workers."""
    for driver, path, runs, inputs in (
        (plain, encoder, 30, exact.inputs),
        (raced, mlp, 30, {"x": X}),
    ):
        program, given, wanted = by_python(path, inputs)
        files = program_files(program, given, tmp_path)
        driver.done(path, "sessions", "", 3, runs, *files, threads=threads)
        name = program.outputs[0].name
        assert files[-1].read_bytes() == wanted[name].tobytes()


def test_a_workspace_in_a_program(sanitized: Driver, tmp_path: Path) -> None:
    """Two steps run one split product and share its scratch memory."""
    split = kgen.Matmul(m=32, n=32, k=32, dtype="f32")
    kernel = pipeline.kernel(split, targets.find("native"), SPLIT.override(mc=32, split_k=2))
    assert kernel.plan.workspaces
    arrays = [value("x", (32, 32), "input"), value("out", (32, 32), "output")]
    arrays.append(value("h", (32, 32), "arena"))
    program = Program(
        name="square",
        target="native",
        inputs=(arrays[0],),
        outputs=(arrays[1],),
        values=tuple(arrays),
        arena_bytes=4096,
        steps=tuple(
            Step(kernel=split.key, bindings={"a": a, "b": "x", "out": out})
            for a, out in (("x", "h"), ("h", "out"))
        ),
    )
    made = bundle.pack([kernel], programs=[program])
    path = made.save(tmp_path / "square.kgen")
    entry, given, wanted = by_python(path)
    files = program_files(entry, given, tmp_path)
    sanitized.done(path, "program", "square", 3, *files, threads=2)
    check_outputs(entry, files, wanted)
    x = given["x"].astype("d")
    np.testing.assert_allclose(wanted["out"], x @ x @ x, rtol=1e-3, atol=1e-3)


# -- Weights


def test_weights_beside_the_bundle(sanitized: Driver, mlp: Path, tmp_path: Path) -> None:
    path = tmp_path / "mlp.kgen"
    mlp_bundle("x86-64-v3").save(path, external_weights=True)
    program, given, wanted = by_python(mlp, {"x": X})
    files = program_files(program, given, tmp_path)
    sanitized.done(path, "program", "main", 1, *files)
    check_outputs(program, files, wanted)
    sanitized.done(path, "weights")
    weight = min(program.weights, key=lambda w: w.sha256)  # they are loaded in this order
    missing = f"{weight.file} is neither in the bundle nor beside it; build or copy the bundle"
    assert missing in sanitized.refused(f"memory:{path}", "list")
    file = tmp_path / weight.file
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    sanitized.done(path, "list")
    refusal = sanitized.refused(path, "weights")
    assert refusal.startswith(f"4: {path}: {weight.file} has sha256 ")
    assert f"..., the manifest says {weight.sha256[:12]}...; it was changed" in refusal
    for size in (0, len(whole) - 1):
        file.write_bytes(whole[:size])
        refusal = sanitized.refused(path, "list")
        assert refusal == (
            f"4: {path}: {weight.file} has {size} bytes, the manifest says {weight.nbytes}; it was "
            "changed after it was built; build or copy the bundle again"
        )
    file.unlink()
    assert missing in sanitized.refused(path, "list")


def test_weights_off_their_pages_are_copied(sanitized: Driver, mlp: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.kgen"
    with zipfile.ZipFile(mlp) as old:
        moved.write_bytes(zipped({name: old.read(name) for name in old.namelist()}))
    program, given, wanted = by_python(mlp, {"x": X})
    files = program_files(program, given, tmp_path)
    sanitized.done(moved, "program", "main", 1, *files)
    check_outputs(program, files, wanted)
    data = bytearray(moved.read_bytes())
    data[data.rindex(parameters()["w2"].tobytes()[-8:])] ^= 1
    flipped = write(tmp_path, "flipped.kgen", bytes(data))
    sanitized.done(flipped, "list")
    assert "it was changed after it was built" in sanitized.refused(flipped, "weights")


def test_a_number_of_keys_above_those_of_attention(sanitized: Driver, tmp_path: Path) -> None:
    path = lengths_of_attention(tmp_path, onnx.TensorProto.INT32)
    rng = np.random.default_rng(2)
    given = {n: values(rng, DType.F32, (2, 2, 3 if n == "q" else 5, 8)) for n in "qkv"}
    number = np.array([3, 5], np.int32).reshape(2, 1, 1, 1)
    program, _, wanted = by_python(path, given | {"number": number})
    files = program_files(program, given | {"number": number}, tmp_path)
    sanitized.done(path, "program", "", 1, *files)
    check_outputs(program, files, wanted)
    files = program_files(program, given | {"number": number + 1}, tmp_path)
    refusal = sanitized.refused(path, "program", "", 1, *files)
    assert refusal.startswith("1: main: number[1]=6 exceeds the 5 keys of k and v; give 0 to 5, or")
