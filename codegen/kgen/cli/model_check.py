"""Verification of programs against their model, for `kgen compile --verify` and `kgen verify`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from kgen.cli.output import end_progress, print_json, print_table, progress
from kgen.errors import SpecError

if TYPE_CHECKING:
    from kgen.bundle import Bundle
    from kgen.check.execute.runners import On
    from kgen.check.model.steps import ProgramResult
    from kgen.constants import Array
    from kgen_runtime.bundle import BundleFile
    from kgen_runtime.schema.program import Value

#: Legend of the columns.
BOUNDS = """
worst step: largest error of a step, as a multiple of its bound, when the step reads the model's own
values; worst output: the same for the whole program. The bound of an element is 32 roundings of it
plus 8 times the error of the model in f32 (docs/how-it-works/models.md).
"""


def verified(
    bundle: Bundle | BundleFile,
    model: str,
    *,
    on: On = "auto",
    seed: int = 0,
    inputs: Sequence[str] = (),
    only: str | None = None,
    executor: Executor | None = None,
) -> list[ProgramResult]:
    """Verify the programs of a bundle, or one of them, against a model.

    Each runs on a worker of the executor, if there is one. Raises SpecError for inputs that do not
    fit.
    """
    from kgen.check.model.narrow import products_of, weights_of
    from kgen.check.model.programs import verify_programs
    from kgen.check.model.truth import truth
    from kgen.check.verify.run import opened

    with opened(bundle) as reader:
        programs = [p for p in reader.manifest.programs if only in (None, p.qualified_name)]
        if not programs:
            raise SpecError(
                f"--model {model}: the bundle has no program; make one with kgen compile"
            )
        progress(f"computing {model} in f64")
        given = _given(inputs, programs[0].inputs)
        kernels = reader.manifest.kernels
        expected = truth(
            model, programs[0], seed=seed, given=given,
            weights=weights_of(kernels), products=products_of(kernels),
        )  # fmt: skip
        found = verify_programs(
            reader, programs, expected, on=on, progress=progress, executor=executor
        )
        end_progress()
        return found


def _given(texts: Sequence[str], inputs: Sequence[Value]) -> dict[str, Array]:
    from kgen.constants import read

    found = {}
    known = {value.name: value for value in inputs}
    for text in texts:
        name, _, file = text.partition("=")
        if name not in known:
            raise SpecError(
                f"--input {text}: the program has no such input; it has {', '.join(known)}"
            )
        array, value = read(file), known[name]
        if array.shape != value.shape or array.dtype != value.dtype.storage:
            raise SpecError(
                f"--input {name}: {file} is {'x'.join(map(str, array.shape))} {array.dtype}; "
                f"expected {'x'.join(map(str, value.shape))} {value.dtype}"
            )
        found[name] = array
    return found


def print_steps(result: ProgramResult) -> None:
    """Print every step of a program, with the error closest to its bound."""
    print(f"{result.target}/{result.program}, error of each step as a multiple of its bound:")
    rows = [
        (s.number + 1, "passed" if s.passed else "failed", s.error, s.kernel, " ".join(s.nodes))
        for s in result.steps
    ]
    print_table(("step", "result", "of bound", "kernel", "nodes"), rows)


def print_results(
    results: Sequence[ProgramResult], *, json: bool = False, nodes: bool = False
) -> None:
    if json:
        print_json({"programs": [result.to_json() for result in results]})
        return
    for result in results:
        if nodes and result.steps:
            print_steps(result)
    rows = []
    for result in results:
        worst = max((s.error for s in result.steps if s.error is not None), default=None)
        rows.append(
            (
                f"{result.target}/{result.program}",
                result.status,
                f"{sum(s.passed for s in result.steps)} of {len(result.steps)}"
                if result.executed
                else None,
                worst,
                max(result.outputs.values(), default=None),
                result.on.partition(" (")[0] or None,
            )
        )
    header = ("program", "result", "steps correct", "worst step", "worst output", "executed on")
    print_table(header, rows)
    print(BOUNDS)
    for result in results:
        name = f"{result.target}/{result.program}"
        if not result.executed:
            print(f"{name}: not executed: {result.reason}")
        elif result.reason:
            print(f"{name}: {result.reason}")
        for output, apart in result.deviation.items():
            print(f"{name}: rounding of operands changes {output} by {apart:.2%} of its norm")
        wrong = result.first_wrong
        if wrong is not None:
            why = wrong.reason or f"the error of {wrong.value} is {wrong.error:.3g} times its bound"
            print(
                f"{name}: step {wrong.number + 1}, {wrong.kernel} (nodes "
                f"{', '.join(wrong.nodes)}), is wrong: {why}"
            )
