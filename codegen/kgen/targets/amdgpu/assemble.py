"""LLVM IR to a loadable code object, without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kgen.errors import AssembleError
from kgen.targets import llvm_ir
from kgen.targets.amdgpu.limits import TARGETS
from kgen.targets.amdgpu.link import link
from kgen.targets.amdgpu.notes import resources
from kgen.targets.base import Artifact, Assembled, Source, Target

#: Seconds after which code generation is given up; the largest kernel takes a few.
TIMEOUT = 300
CHILD = Path(__file__).with_name("codegen.py")


def assemble(source: Source, target: Target) -> Assembled:
    """The code object and its source. Raises AssembleError with LLVM's last line."""
    code_object = link(compile_object(source, target))
    return Assembled(
        artifacts=(
            Artifact(
                format="hsaco",
                extension="hsaco",
                role="machine-code",
                data=code_object,
                requires={"arch": target.arch},
            ),
            Artifact(format="llvm-ir", extension="ll", role="source", data=source.text.encode()),
        ),
        resources=resources(code_object),
    )


def compile_object(source: Source, target: Target) -> bytes:
    """The relocatable object. Raises AssembleError with LLVM's last line."""
    return _generate(source.text, f"{source.entry_point} for {target.name}", target)


def assembly(ir: str, target: Target) -> str:
    """The same code as text, of the same IR. Raises AssembleError."""
    return _generate(ir, target.name, target, "assembly").decode()


def _generate(ir: str, name: str, target: Target, *form: str) -> bytes:
    """What the code generator makes, in a child, because LLVM ends the process on errors."""
    if target.arch not in {t.arch for t in TARGETS}:
        raise AssembleError(f"cpu={target.arch} is not one that kgen generates AMDGPU code for")
    # -I: the child sees neither the environment nor the working directory.
    command = [sys.executable, "-I", str(CHILD), str(os.getpid()), target.arch, *form]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        try:
            llvm_ir.toolchain()  # both processes load LLVM, this one for its version: at once
            generated, report = child.communicate(ir.encode(), TIMEOUT)
        except BaseException as error:
            child.kill()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise AssembleError(
                f"{name}: code generation took over {TIMEOUT} s; try a smaller tile"
            ) from None
    if child.returncode != 0:
        words = last_words(report.decode(errors="replace"))
        raise AssembleError(f"{name}: {words or f'LLVM ended with status {child.returncode}'}")
    return generated


def last_words(output: str) -> str:
    """The last line that names an error, else the last line: LLVM points at the place below it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or [""])[-1]
