"""The C runtime's sources as C++, in the examples of the documents, and as a static library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from scripts import amalgamate
from tests import needs
from tests.device.cpu.c_runtime.compiled import (
    HERE,
    PLAIN,
    ROOT,
    SANITIZED,
    SOURCES,
    compiled,
    compiler,
    run,
    runtime,
)
from tests.onnx_models import Maker
from tests.programs import mlp_bundle
from tests.specs import relu_of

CPP_WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


def cpp_program(folder: Path, source: Path, program: Path, *flags: str) -> None:
    """Compile a C++ program with the whole runtime, whose sources are C."""
    cxx = compiler("g++", "g++")
    objects = runtime(folder, compiler(), PLAIN)
    language = flags or ("-std=c++11",)
    command = [cxx, *language, *CPP_WARNINGS, f"-I{SOURCES}", str(source), *objects]
    run([*command, "-o", str(program), "-pthread"])


@pytest.fixture(scope="module")
def relu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = kgen.build(relu_of((7, 1001), dtype="f32"), ["x86-64-v3"])
    return made.save(tmp_path_factory.mktemp("relu") / "relu.kgen")


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mlp_bundle("x86-64-v3").save(tmp_path_factory.mktemp("mlp") / "mlp.kgen")


def test_a_cpp_program(folder: Path, relu: Path, tmp_path: Path) -> None:
    program = tmp_path / "consumer"
    cpp_program(folder, HERE / "consumer.cpp", program)
    done = subprocess.run([str(program), str(relu)], capture_output=True, text=True)
    assert done.stdout == "0 2.5 0 [relu_7x1001_f32: takes 2 arguments, got 1] []\n", done.stderr


@pytest.mark.parametrize("flags", [("-std=c++11",), ("-std=c++20", "-fno-exceptions")])
def test_the_wrapper(
    flags: tuple[str, ...], folder: Path, relu: Path, mlp: Path, decoder: Path, tmp_path: Path
) -> None:
    """`kgen.hpp` works with exceptions and without."""
    program = tmp_path / "wrapper"
    cpp_program(folder, HERE / "wrapper.cpp", program, *flags)
    words = [str(program), str(relu), str(mlp), str(decoder)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "done\n", done.stderr


def test_programs_and_strides(folder: Path, relu: Path, mlp: Path, tmp_path: Path) -> None:
    program = compiled(folder, "programs", SANITIZED)
    m = Maker()
    nothing = m.model(m.add("Neg", m.input("x", (0, 3))))
    without_steps = kgen.compile_model(nothing, ["x86-64-v3"]).save(tmp_path / "nothing.kgen")
    empty = ROOT / "tests" / "data" / "schema_3.kgen"
    words = map(str, (program, mlp, relu, empty, without_steps))
    done = subprocess.run([*words], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    with kgen_runtime.load(mlp, device="cpu") as kernels:
        nodes = [node for step in kernels.program.entry.steps for node in step.nodes]
    assert done.stdout.split() == nodes and nodes


#: As C, the sources themselves are compiled with optimisation and more warnings.
SINGLE_FILE = {
    "c99": ("cc", "gcc", "-std=c99", "-Wpedantic", "-O0"),
    "c++11": ("g++", "g++", "-xc++", "-std=c++11", "-O1"),
    "c++20": ("g++", "g++", "-xc++", "-std=c++20", "-O0"),
}


@pytest.mark.parametrize("language", SINGLE_FILE)
def test_the_single_file(language: str, relu: Path, tmp_path: Path) -> None:
    """`kgen_all.c` compiles without a warning as C and as C++, and runs a kernel."""
    name, package, *flags = SINGLE_FILE[language]
    amalgamate.main(str(tmp_path))
    cc = compiler(name, package)
    common = ["-Wall", "-Wextra", "-Werror"]
    run([cc, *flags, *common, "-c", "kgen_all.c", "-o", "kgen_all.o"], cwd=tmp_path)
    cxx = compiler("g++", "g++")
    source = str(HERE / "consumer.cpp")
    command = [cxx, "-std=c++11", f"-I{tmp_path}", source, "kgen_all.o", "-o", "program"]
    run([*command, "-pthread"], cwd=tmp_path)
    done = subprocess.run([str(tmp_path / "program"), str(relu)], capture_output=True, text=True)
    assert done.stdout.startswith("0 2.5 0 "), done.stderr


def test_the_version() -> None:
    header = (SOURCES / "kgen.h").read_text()
    assert f'#define KGEN_VERSION "{kgen_runtime.__version__}"\n' in header
    for name, number in zip(
        ("MAJOR", "MINOR", "PATCH"), kgen_runtime.__version__.split("."), strict=True
    ):
        assert f"#define KGEN_VERSION_{name} {number}\n" in header


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_an_example(language: str, folder: Path, tmp_path: Path) -> None:
    """The example compiles without a warning, and prints what Python computes."""
    source = ROOT / "examples" / f"encoder.{language}"
    if language == "c":
        program = compiled(folder, "encoder", PLAIN, source)
    else:
        program = tmp_path / "encoder"
        cpp_program(folder, source, program)
    bundle = kgen.compile_model(ROOT / "examples" / "encoder.onnx", ["native"]).bundle
    path = bundle.save(tmp_path / "encoder.kgen")
    done = subprocess.run([str(program)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with kgen_runtime.load(path, device="cpu") as kernels:
        ids = np.array([[2, 7, 1, 8, 2, 8, 1]])
        hidden = kernels.program.run(
            input_ids=ids, attention_mask=np.ones_like(ids), token_type_ids=0 * ids
        )
    assert done.stdout == " ".join(f"{x:.3f}" for x in hidden.ravel()[:3]) + "\n"
    done = subprocess.run([str(program)], capture_output=True, text=True, cwd=tmp_path.parent)
    assert done.returncode and "encoder.kgen: cannot read: No such file" in done.stderr


def test_the_static_library(tmp_path: Path) -> None:
    """`make c-runtime` builds a library whose global names all begin with kgen_."""
    needs.program("make", "gcc")
    shutil.copytree(SOURCES, tmp_path / "runtime" / "c")
    shutil.copy(ROOT / "Makefile", tmp_path)
    run(["make", "-s", "c-runtime", "CFLAGS=-O0"], cwd=tmp_path)
    needs.program("nm", "binutils")
    listed = subprocess.run(
        ["nm", "-g", "--defined-only", str(tmp_path / "build" / "libkgen.a")],
        capture_output=True,
        text=True,
        check=True,
    )
    names = [line.split()[2] for line in listed.stdout.splitlines() if len(line.split()) == 3]
    assert len(names) > 60 and all(name.startswith("kgen_") for name in names), names
