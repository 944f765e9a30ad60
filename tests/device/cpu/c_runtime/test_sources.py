"""The C runtime's sources: C++, the examples of the documents, the static library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from tests import needs
from tests.device.cpu.c_runtime.compiled import (
    HERE,
    PLAIN,
    ROOT,
    SOURCES,
    compiled,
    compiler,
    run,
    runtime,
)
from tests.specs import relu_of


def cpp_program(folder: Path, source: Path, program: Path) -> None:
    """Compile a C++ program with the whole runtime, whose sources are C."""
    cxx = compiler("g++", "g++")
    objects = runtime(folder, compiler(), PLAIN)
    warnings = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    run([cxx, *warnings, f"-I{SOURCES}", str(source), *objects, "-o", str(program), "-pthread"])


def test_a_cpp_program(folder: Path, tmp_path: Path) -> None:
    program = tmp_path / "consumer"
    cpp_program(folder, HERE / "consumer.cpp", program)
    path = kgen.build(relu_of((7, 1001), dtype="f32"), ["native"]).save(tmp_path / "relu.kgen")
    done = subprocess.run([str(program), str(path)], capture_output=True, text=True)
    assert done.stdout == "0 2.5 0 [relu_7x1001_f32: takes 2 arguments, got 1] []\n", done.stderr


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
