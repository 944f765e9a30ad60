"""Verification of a bundle's programs against their model, here or on remote workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from kgen.check.execute.runners import On
from kgen.check.model.steps import ProgramReader, ProgramResult, verify_program
from kgen.check.model.truth import Truth
from kgen.check.verify.run import MemoryReader
from kgen.errors import KgenError, VerificationError
from kgen.parallel import work
from kgen_runtime.manifest import Manifest
from kgen_runtime.schema.program import Program


def verify_programs(
    reader: ProgramReader,
    programs: Sequence[Program],
    truth: Truth,
    *,
    on: On = "auto",
    progress: Callable[[str], None] = lambda _: None,
    executor: Executor | None = None,
) -> list[ProgramResult]:
    """Verify each program step by step and as a whole; see :func:`verify_program`.

    Raises VerificationError if a worker of the executor fails.
    """
    if executor is None:
        return [
            verify_program(reader, p, truth, on=on, progress=_named(progress, p)) for p in programs
        ]
    pieces = [(_by_itself(reader, program), program, truth, on) for program in programs]

    def blame(number: int, why: str) -> VerificationError:
        return VerificationError(f"{programs[number].qualified_name}: {why}")

    def told(number: int, done: int, left: int) -> None:
        progress(f"verifying {programs[number].qualified_name}: {done} done, {left} left")

    found = dict(work.results(executor, _alone, pieces, blame, told))
    return [found[number] for number in range(len(programs))]


def _named(progress: Callable[[str], None], program: Program) -> Callable[[str], None]:
    return lambda what: progress(f"verifying {program.qualified_name}: {what}")


def _by_itself(reader: ProgramReader, program: Program) -> MemoryReader:
    """Return a reader of the part of a bundle that a worker needs for one program."""
    keys = {step.kernel for step in program.steps}
    kernels = [k for k in reader.manifest.kernels if k.target.name == program.target]
    kernels = [kernel for kernel in kernels if kernel.key in keys]
    return MemoryReader(
        manifest=Manifest(
            kernels=tuple(kernels), programs=(program,), provenance=reader.manifest.provenance
        ),
        files={a.file: reader.read(a) for kernel in kernels for a in kernel.artifacts},
        weights={weight.file: reader.weight(weight) for weight in program.weights},
    )


def _alone(reader: MemoryReader, program: Program, truth: Truth, on: On) -> ProgramResult | str:
    """Verify one program on a worker; return the result, or the error's text."""
    try:
        return verify_program(reader, program, truth, on=on)
    except KgenError as error:
        return str(error)
