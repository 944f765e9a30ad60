"""`kgen emulate`: run PTX or AMDGPU kernel text on the CPU, with the emulators' checks."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.check.gate.foreign import LANGUAGES, extent, language_of, read_text
from kgen.cli.counts import print_launch
from kgen.cli.listing import origin
from kgen.cli.output import print_json
from kgen.emulate.locations import places
from kgen.emulate.profile import Profile
from kgen.errors import SpecError

if TYPE_CHECKING:
    from kgen.emulate import EmulationFault, LaunchReport

#: Most distinct faults in one report.
MOST_FAULTS = 20
#: Target family of each language.
FAMILIES = {"ptx": "cuda", "llvm": "amdgpu"}

#: Meaning of exit status 1.
FAILED = "the kernel has a fault, such as a race or an access out of bounds"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="PTX text (.ptx) or AMDGPU LLVM IR text (.ll), not machine code",
    )
    parser.add_argument(
        "--entry", required=True, metavar="NAME",
        help='kernel to run; a C++ kernel without extern "C" has a mangled name',
    )  # fmt: skip
    parser.add_argument(
        "--grid",
        required=True,
        metavar="X,Y,Z",
        help="workgroups (CTAs), as in 4 or 4,2; missing sizes are 1",
    )
    parser.add_argument("--block", required=True, metavar="X,Y,Z", help="threads per workgroup")
    parser.add_argument(
        "--cluster", default="1", metavar="X,Y,Z", help="CTAs of a thread block cluster (PTX)"
    )
    parser.add_argument(
        "--dynamic-shared", metavar="BYTES", default="0", help="dynamic shared memory (default: 0)"
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="A", dest="arguments",
        help="an argument, repeated in order: in:a.npy, inout:a.npy:b.npy, out:f32:64x64:c.npy, a "
        'scalar i32:1024, or tensormap:{"tensor": "in:a.npy", "box": [64, 128], "swizzle": 128}',
    )  # fmt: skip
    parser.add_argument(
        "--arch", metavar="A",
        help="device whose launch limits apply (default: the one that the text names)",
    )  # fmt: skip
    parser.add_argument(
        "--no-checks",
        action="store_true",
        help="skip the checks for races and uninitialised reads; bounds are always checked",
    )
    parser.add_argument(
        "--strict", action="store_true",
        help="report unordered writes of the same value, and order that only a warp collective "
        "gives (PTX), as races instead of warnings",
    )  # fmt: skip
    schedules = parser.add_mutually_exclusive_group()
    schedules.add_argument(
        "--seeds", metavar="N",
        help="run once for each of the seeds 0 to N-1 (default: 3; 1 with --no-checks); seed 0 "
        "writes the files and the profile",
    )  # fmt: skip
    schedules.add_argument(
        "--seed", metavar="S",
        help="run for this seed only; a seed selects an order of workgroups, warps and copies",
    )  # fmt: skip
    parser.add_argument(
        "--profile", action="store_true",
        help="also count instructions, bank conflicts and memory traffic",
    )  # fmt: skip
    parser.add_argument(
        "--source",
        action="store_true",
        help="with --profile: print the counts of every source line",
    )


def run(args: argparse.Namespace) -> int:
    import kgen.emulate
    from kgen.emulate import arguments
    from kgen.emulate.schedules import run_all

    if args.source and not args.profile:
        raise SpecError("--source needs --profile; add it")
    path = Path(args.file)
    language = language_of(args.file)
    _check_arch(args.arch, path)
    source = read_text(args.file)
    given = arguments.parse(args.arguments)
    values: list[Any] = [argument.value for argument in given]
    seeds = _seeds(args)

    def launch(values: Sequence[Any], seed: int) -> LaunchReport:
        return kgen.emulate.run(
            source,
            language=language,
            entry=args.entry,
            grid=extent("--grid", args.grid),
            block=extent("--block", args.block),
            arguments=values,
            dynamic_shared=arguments.whole("dynamic-shared", args.dynamic_shared, 0),
            checks=not args.no_checks,
            profile=args.profile and seed == seeds[0],
            seed=seed,
            strict=args.strict,
            most_faults=MOST_FAULTS,
            arch=args.arch,
            **_cluster(args, path),
        )

    try:
        report = run_all(launch, values, seeds)
    except kgen.emulate.EmulationFault as found:
        return _print_fault(found, source, args.json)
    except MemoryError as error:
        raise SpecError(f"{args.entry}: {error}; pass smaller arrays, or --seeds 1") from None
    for argument in given:
        if argument.output is not None:
            _save(argument.output, argument.array)
    _print(report, source, args, seeds)
    return 0


def _seeds(args: argparse.Namespace) -> range:
    """Return the seeds to run under: the one of --seed, or the first few."""
    from kgen.emulate.arguments import number_of_seeds, whole
    from kgen.emulate.schedules import SCHEDULES

    if args.seed is not None:
        seed = whole("seed", args.seed, 0)
        return range(seed, seed + 1)
    if args.seeds is not None:
        return range(number_of_seeds(args.seeds))
    return range(1 if args.no_checks else SCHEDULES)


def _check_arch(arch: str | None, path: Path) -> None:
    """Raise SpecError for a device whose limits are unknown, or that runs another language."""
    from kgen import suggest
    from kgen_runtime.launch_limits import known_devices

    if arch is None:
        return
    family = FAMILIES[LANGUAGES[path.suffix]]
    known = known_devices(family)
    # Names of AMD processors may include settings: gfx942:xnack-.
    name = arch.partition(":")[0] if family == "amdgpu" else arch
    if name not in known:
        raise SpecError(
            suggest.unknown(f"--arch {arch or repr(arch)} of a {path.suffix} file", name, known)
        )


def _cluster(args: argparse.Namespace, path: Path) -> dict[str, Any]:
    cluster = extent("--cluster", args.cluster)
    if path.suffix != ".ptx" and cluster != (1, 1, 1):
        raise SpecError(f"--cluster {args.cluster} applies to PTX only; leave it out for {path}")
    return {"cluster": cluster}


def _print(report: LaunchReport, source: str, args: argparse.Namespace, seeds: range) -> None:
    if args.json:
        print_json(_json(report, lines=args.source) | {"seeds": list(seeds)})
        return
    for line in report.printed:
        print(line)
    for warning in report.warnings:
        print(f"warning: {warning}{origin(places(source), warning.line)}")
    under = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    print(
        f"{args.entry}: no fault under {under}; {report.workgroups_run} workgroups, "
        f"{report.instructions} instructions, {report.seconds:.3f} s"
    )
    if args.profile:
        profile = Profile(
            entry=args.entry,
            language=LANGUAGES[Path(args.file).suffix],
            source=source,
            threads=math.prod(extent("--block", args.block)),
            report=report,
        )
        print()
        print_launch(profile, source=args.source)


def _json(report: LaunchReport, *, lines: bool) -> dict[str, Any]:
    fields = vars(report) | {"warnings": [vars(fault) for fault in report.warnings]}
    fields["lines"] = {number: vars(counts) for number, counts in report.lines.items()}
    return {"fault": None} | {k: v for k, v in fields.items() if k != "lines" or lines}


def _print_fault(found: EmulationFault, source: str, as_json: bool) -> int:
    """Print each fault in one line, with its place in the user's source and a suggested fix."""
    if as_json:
        faults = [vars(fault) | {"fix": fault.fix} for fault in found.faults]
        print_json({"fault": faults[0], "faults": faults, "printed": found.printed})
        return 1
    for line in found.printed:
        print(line)
    for fault in found.faults:
        print(f"{fault}{origin(places(source), fault.line)}; {fault.fix}")
    return 1


def _save(path: Path, value: object) -> None:
    import numpy as np

    from kgen.emulate.arguments import reason
    from kgen_runtime.files import replacing

    try:
        with replacing(path) as file:
            np.save(file, np.asarray(value))
    except OSError as error:
        raise SpecError(f"{path} cannot be written: {reason(error)}; name another file") from None
