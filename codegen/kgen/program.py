"""Completing the programs of a bundle: dependencies between steps, and files of weights."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgen.errors import BundleError
from kgen.order.accesses import uses
from kgen.order.ancestors import Ancestors
from kgen.repeated_steps import with_repeats
from kgen_runtime.manifest import Manifest
from kgen_runtime.schema import manifest_json
from kgen_runtime.schema.program import Program, Weight, weight_file
from kgen_runtime.schema.repeats import written_out

if TYPE_CHECKING:
    import numpy.typing as npt

    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import KernelEntry

    Bytes = bytes | npt.NDArray[Any]


def weight(name: str, data: Bytes) -> Weight:
    """Return a weight with these bytes, in the order of :func:`kgen.constants.stored`.

    Pass the same bytes to `bundle.pack` under the weight's `file`.
    """
    found = _bytes(data)
    digest = hashlib.sha256(found.data).hexdigest()
    return Weight(name=name, file=weight_file(digest), sha256=digest, nbytes=len(found))


def finished(
    programs: Sequence[Program], kernels: Sequence[KernelEntry], weights: Mapping[str, Bytes]
) -> tuple[tuple[Program, ...], dict[str, HostBytes]]:
    """Return the programs with the dependencies of their steps, and the files of their weights.

    Raises BundleError for a program that the runtime would refuse.
    """
    # Sequential steps have no ordering fault, so this check finds all other faults.
    check_programs([_in_line(program) for program in programs], kernels)
    by_name = {kernel.name: kernel for kernel in kernels}
    made = tuple(_ordered(program, by_name) for program in programs)
    check_programs(made, kernels)
    # The round trip gives values the names that they get when the program is read.
    made = tuple(written_out(with_repeats(program)) for program in made)
    return made, _weight_files(made, weights)


def check_programs(programs: Sequence[Program], kernels: Sequence[KernelEntry]) -> None:
    """Raise BundleError for programs of these kernels that the runtime would refuse."""
    made = Manifest(kernels=tuple(kernels), programs=tuple(programs))
    manifest_json.check(json.dumps(manifest_json.to_json(made)).encode())


def _in_line(program: Program) -> Program:
    """Return the program with each step waiting for the previous one."""
    steps = (
        dataclasses.replace(step, after=(number - 1,) if number else ())
        for number, step in enumerate(program.steps)
    )
    return dataclasses.replace(program, steps=tuple(steps))


def _weight_files(programs: Iterable[Program], given: Mapping[str, Bytes]) -> dict[str, HostBytes]:
    """Return the files of all weights of these programs.

    Raises BundleError for a weight without a file, or with a file whose digest differs.
    """
    files: dict[str, HostBytes] = {}
    known: dict[str, Weight] = {}  # programs share files, and each is hashed once
    for program in programs:
        for one in program.weights:
            if one.file not in given:
                raise BundleError(
                    f"program {program.qualified_name}: weight {one.name} has no data under "
                    f"weights[{one.file!r}]; give its bytes"
                )
            if one.file not in files:
                files[one.file] = _bytes(given[one.file])
                known[one.file] = weight(one.name, files[one.file])
            if one != dataclasses.replace(known[one.file], name=one.name):
                raise BundleError(
                    f"program {program.qualified_name}: weights[{one.file!r}] are not the bytes of "
                    f"weight {one.name}; give those that it was made of"
                )
    return files


def _bytes(data: Bytes) -> HostBytes:
    import numpy as np

    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return np.frombuffer(data, np.uint8)


def _ordered(program: Program, kernels: Mapping[str, KernelEntry]) -> Program:
    """Return the program with each step's `after`: earlier steps whose accesses conflict with it.

    A step that another one in `after` waits for is left out. `kernels` are a bundle's, by name.
    """
    steps = []
    earlier: list[Ancestors] = []
    for step, found in zip(program.steps, uses(program, kernels), strict=True):
        after: list[int] = []
        before = Ancestors()
        for other in sorted({o.step for _, _, others in found for o in others}, reverse=True):
            if other not in before:
                after.append(other)
                before.add(other, earlier[other])
        earlier.append(before)
        steps.append(dataclasses.replace(step, after=tuple(sorted(after))))
    return dataclasses.replace(program, steps=tuple(steps))
