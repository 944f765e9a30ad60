"""`kgen emulate`: run any PTX or AMDGPU kernel text on the CPU, with the emulators' checks."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kgen.cli.output import print_json
from kgen.cli.profile import print_launch
from kgen.emulate.profile import Profile
from kgen.errors import EmulationError, SpecError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kgen.emulate import Report

    Array = npt.NDArray[Any]

LANGUAGES: dict[str, Literal["ptx", "llvm"]] = {".ptx": "ptx", ".ll": "llvm"}
#: Scalars and element types by name; 16-bit floats without a numpy type are given as u16.
DTYPES = {
    "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
    "f16": "f2", "f32": "f4", "f64": "f8",
}  # fmt: skip
#: Bytes of an output before the kernel runs: NaN in every float format.
UNWRITTEN = 0xFF


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="PTX (.ptx) or AMDGPU LLVM IR (.ll)")
    parser.add_argument("--entry", required=True, metavar="NAME", help="the kernel's name")
    parser.add_argument("--grid", required=True, metavar="X,Y,Z", help="workgroups (CTAs)")
    parser.add_argument("--block", required=True, metavar="X,Y,Z", help="threads per workgroup")
    parser.add_argument(
        "--dynamic-shared", metavar="BYTES", default="0", help="dynamic shared memory (0)"
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="A", dest="arguments",
        help="in order: in:a.npy, inout:a.npy:b.npy, out:f32:64x64:c.npy, or a scalar i32:1024",
    )  # fmt: skip
    parser.add_argument("--no-checks", action="store_true", help="skip races and the like")
    parser.add_argument("--seed", type=int, default=0, help="order of the workgroups (0)")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="also count instructions, bank conflicts and memory traffic",
    )
    parser.add_argument(
        "--source", action="store_true", help="with --profile: the counts beside every source line"
    )


@dataclass(frozen=True, kw_only=True)
class Argument:
    """A kernel argument, and the file that it is written to afterwards."""

    value: Array | np.generic
    output: Path | None = None


def run(args: argparse.Namespace) -> int:
    import kgen.emulate

    if args.source and not args.profile:
        raise SpecError("--source shows a profile's counts; give --profile with it")
    path = Path(args.file)
    if path.suffix not in LANGUAGES:
        raise SpecError(f"file={path} is neither .ptx nor .ll; name it by its language")
    try:
        source = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"file={path} cannot be read: {_reason(error)}") from None
    arguments = [_argument(text) for text in args.arguments]
    block = _extent("block", args.block)
    try:
        report = kgen.emulate.run(
            source,
            language=LANGUAGES[path.suffix],
            entry=args.entry,
            grid=_extent("grid", args.grid),
            block=block,
            arguments=[a.value for a in arguments],
            dynamic_shared=_whole("dynamic-shared", args.dynamic_shared, 0),
            checks=not args.no_checks,
            profile=args.profile,
            seed=args.seed,
        )
    except kgen.emulate.EmulationFault as fault:
        return _print_fault(fault, args.json)
    for argument in arguments:
        if argument.output is not None:
            _save(argument.output, argument.value)
    if args.json:
        print_json(_json(report, lines=args.source))
        return 0
    for warning in report.warnings:
        print(f"warning: {kgen.emulate.EmulationFault(warning)}")
    print(
        f"{args.entry}: no fault; {report.workgroups_run} workgroups, "
        f"{report.instructions} instructions, {report.seconds:.3f} s"
    )
    if args.profile:
        print()
        print_launch(
            Profile(
                entry=args.entry,
                language=LANGUAGES[path.suffix],
                source=source,
                threads=math.prod(block),
                report=report,
            ),
            source=args.source,
        )
    return 0


def _json(report: Report, *, lines: bool) -> dict[str, Any]:
    fields = vars(report) | {"warnings": [vars(fault) for fault in report.warnings]}
    fields["lines"] = {number: vars(counts) for number, counts in report.lines.items()}
    return {"fault": None} | {k: v for k, v in fields.items() if k != "lines" or lines}


def _print_fault(fault: EmulationError, as_json: bool) -> int:
    from kgen.emulate import EmulationFault

    assert isinstance(fault, EmulationFault)
    if as_json:
        print_json({"fault": vars(fault.fault)})
    else:
        print(fault)
    return 1


def _argument(text: str) -> Argument:
    """One --arg. Raises SpecError."""
    import numpy as np

    kind, _, rest = text.partition(":")
    if kind == "in":
        return Argument(value=_load(rest))
    if kind == "inout":
        source, _, target = rest.partition(":")
        return Argument(value=_load(source), output=_output(target, text))
    if kind == "out":
        name, shape, target = [*rest.split(":", 2), "", ""][:3]
        sizes = [_whole("arg", n, 1) for n in shape.split("x")]
        empty = np.empty(sizes, _dtype(name, text))
        empty.view(np.uint8).reshape(-1)[:] = UNWRITTEN
        return Argument(value=empty, output=_output(target, text))
    dtype = _dtype(kind, text)
    try:
        return Argument(value=dtype.type(float(rest) if dtype.kind == "f" else int(rest, 0)))
    except (ValueError, OverflowError):
        raise SpecError(f"--arg {text} is not a number of type {kind}") from None


def _dtype(name: str, text: str) -> np.dtype[Any]:
    import numpy as np

    if name not in DTYPES:
        raise SpecError(
            f"--arg {text} is unknown; give in:FILE, inout:FILE:FILE, out:TYPE:SHAPE:FILE or "
            f"TYPE:VALUE, TYPE being one of {' '.join(DTYPES)}"
        )
    return np.dtype(DTYPES[name])


def _output(name: str, text: str) -> Path:
    path = Path(name)
    if not name or path.is_dir() or not path.parent.is_dir():
        raise SpecError(f"--arg {text} names no file that can be written")
    return path


def _load(name: str) -> Array:
    import numpy as np

    try:
        return np.ascontiguousarray(np.load(name, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise SpecError(f"--arg {name} cannot be read as .npy: {_reason(error)}") from None


def _save(path: Path, value: object) -> None:
    import numpy as np

    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            np.save(file, np.asarray(value))
        temporary.replace(path)
    except OSError as error:
        raise SpecError(f"{path} cannot be written: {_reason(error)}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _extent(name: str, text: str) -> tuple[int, int, int]:
    """`8`, `8,4` or `8,4,2`; what is left out is 1."""
    sizes = [_whole(name, part, 1) for part in text.split(",")]
    if len(sizes) > 3:
        raise SpecError(f"--{name} {text} has {len(sizes)} dimensions; 3 are the limit")
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z


def _whole(name: str, text: str, least: int) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < least:
        raise SpecError(f"--{name} {text} is not a whole number of {least} or more")
    return int(text)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
