"""LLVM IR to a loadable code object, without a GPU."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from kgen.errors import AssembleError
from kgen.targets import llvm_ir
from kgen.targets.amdgpu import intrinsics
from kgen.targets.amdgpu.limits import TARGETS
from kgen.targets.amdgpu.link import link
from kgen.targets.amdgpu.notes import resources
from kgen.targets.base import Artifact, Assembled, Source, Target

#: Time limit of code generation in seconds; the largest kernels take a few.
TIMEOUT = 300
CHILD = Path(__file__).with_name("codegen.py")


def assemble(source: Source, target: Target) -> Assembled:
    """Return the code object and its source. Raises AssembleError with LLVM's last line."""
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
    """Return the relocatable object. Raises AssembleError with LLVM's last line."""
    return _generate(source.text, f"{source.entry_point} for {target.name}", target)


def assembly(ir: str, target: Target) -> str:
    """Return the kernel's machine code as assembly text. Raises AssembleError."""
    return _generate(ir, target.name, target, "assembly").decode()


def _generate(ir: str, name: str, target: Target, form: str = "object") -> bytes:
    """Run the code generator in a child process, because LLVM ends the process on errors."""
    if target.arch not in {t.arch for t in TARGETS}:
        known = ", ".join(dict.fromkeys(t.arch for t in TARGETS))
        raise AssembleError(f"cpu={target.arch} is not an AMD GPU that kgen supports; use {known}")
    try:
        intrinsics.check(ir, target.arch)
    except AssembleError as error:
        raise AssembleError(f"{name}: {error}") from None
    generator = _started()
    try:
        llvm_ir.toolchain()  # load LLVM here, for its version, while the child loads it too
        return generator.answer(f"{target.arch} {form}", ir.encode())
    except BaseException as error:
        report = generator.close()
        if isinstance(error, TimeoutError):
            raise AssembleError(
                f"{name}: code generation took more than {TIMEOUT} s; try a smaller tile"
            ) from None
        if not isinstance(error, EOFError):
            raise
        words = last_words(report) or f"LLVM ended with status {generator.process.returncode}"
        raise AssembleError(f"{name}: {words}") from None


class Generator:
    """Process that generates code, until LLVM ends it or the thread that started it ends."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # -I: the child sees neither the environment nor the working directory.
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(CHILD), str(self._owner)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )

    @property
    def lives(self) -> bool:
        """Whether the process runs and was started by this one, not by a process that it was forked
        from."""
        return self._owner == os.getpid() and self.process.poll() is None

    def answer(self, request: str, ir: bytes) -> bytes:
        """Return the code for a request. Raises TimeoutError, or EOFError if the process ends."""
        requests, answers = self.process.stdin, self.process.stdout
        assert requests is not None and answers is not None
        try:
            requests.write(f"{request} {len(ir)}\n".encode() + ir)
            requests.flush()
        except BrokenPipeError:
            raise EOFError from None
        if not select.select([answers], [], [], TIMEOUT)[0]:
            raise TimeoutError
        size = int(answers.readline() or -1)
        code = answers.read(max(0, size))
        if len(code) != size:
            raise EOFError
        return code

    def close(self) -> str:
        """End the process and return its standard error."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        self._errors.seek(0)
        with self._errors:
            return self._errors.read().decode(errors="replace")


_generators = threading.local()


def _started() -> Generator:
    """Return the code generator of this thread, which ends with the thread."""
    found: Generator | None = getattr(_generators, "generator", None)
    if found is None or not found.lives:
        found = _generators.generator = Generator()
    return found


def last_words(output: str) -> str:
    """Return the last line that names an error, else the last line. LLVM prints the place of an
    error below it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or [""])[-1]
