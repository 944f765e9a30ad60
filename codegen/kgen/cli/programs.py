"""Bundle, device and input arguments of the commands that run a program."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kgen.errors import ArgumentError, BundleError, SpecError

if TYPE_CHECKING:
    from kgen_runtime.calls.program import LoadedProgram
    from kgen_runtime.manifest import Manifest
    from kgen_runtime.schema.program import Program


def configure(parser: argparse.ArgumentParser, threads: int | None = None) -> None:
    """Add the arguments; `threads` is the default number of threads, None for all cores."""
    parser.add_argument("file", metavar="FILE.kgen", help="bundle to read")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="array of an input, written by numpy.save; repeat the option for each input",
    )
    parser.add_argument(
        "--program", metavar="NAME", help="name of the program, if the bundle has several"
    )
    parser.add_argument(
        "--device", metavar="D", help="cpu, cuda:1, vulkan, ... (default: the best device here)"
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", default=threads,
        help=f"CPU threads (default: {threads or 'all cores'})",
    )  # fmt: skip


def check_threads(threads: int | None) -> None:
    """Raise SpecError for a number of `--threads` out of range."""
    from kgen_runtime.backends.cpu.backend import MAX_THREADS

    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise SpecError(
            f"--threads {threads} is out of range; give 1 to {MAX_THREADS}, or leave it out to "
            "use all cores"
        )


@contextmanager
def loaded(args: argparse.Namespace) -> Iterator[LoadedProgram]:
    """Yield the program of the command, loaded on its device."""
    import kgen_runtime

    check_threads(args.threads)
    with kgen_runtime.load(args.file, device=args.device, num_threads=args.threads) as kernels:
        if args.program is None:
            yield kernels.program
        elif args.program in kernels.programs:
            yield kernels.programs[args.program]
        else:
            known = ", ".join(kernels.programs) or "none"
            raise ArgumentError(f"--program {args.program} is unknown; the bundle has {known}")


def program_of(manifest: Manifest, name: str | None) -> Program:
    """Return the program of this name, with or without its target; the first one for None.

    Raises BundleError and SpecError.
    """
    programs = manifest.programs
    if not programs:
        raise BundleError("the bundle has no program; make one with kgen compile MODEL.onnx")
    if name is None:
        return programs[0]
    found = [p for p in programs if name in (p.qualified_name, p.target, p.name)]
    if not found:
        known = ", ".join(p.qualified_name for p in programs)
        raise SpecError(f"--program {name} is unknown; the bundle has {known}")
    return found[0]


def arrays(texts: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of `--input` by name; bf16 arrays as their bits."""
    import numpy as np

    from kgen.constants import BITS_16, read

    found: dict[str, Any] = {}
    for text in texts:
        name, separator, path = text.partition("=")
        if not (name and separator and path):
            raise SpecError(
                f"--input {text} does not have the form NAME=FILE.npy; give one such as x=x.npy"
            )
        if name in found:
            raise SpecError(f"--input {name} is given twice; give it once")
        array = read(path, f"input {name}:")
        found[name] = array.view(np.uint16) if array.dtype == BITS_16 else array
    return found


def check_given(program: LoadedProgram, given: Mapping[str, Any]) -> None:
    """Raise SpecError for inputs without an array, listing their shapes and types."""
    missing = [value for value in program.entry.inputs if value.name not in given]
    if missing and given.keys() <= set(program.input_names):
        takes = ", ".join(
            f"{value.name} ({'x'.join(map(str, value.shape)) or 'one number'} {value.dtype})"
            for value in missing
        )
        raise SpecError(f"missing inputs: {takes}; give each as --input NAME=FILE.npy")


def filled(program: LoadedProgram, given: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """Return all inputs of a program, with values for those that are not given.

    Integers, which may be indices, are zero; floats are normally distributed.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    found = dict(given)
    for value in program.entry.inputs:
        if value.name in found:
            continue
        array = np.zeros(value.shape, value.dtype.storage)
        if array.dtype.kind == "f":
            array[...] = rng.standard_normal(value.shape)
        found[value.name] = array
    return found
