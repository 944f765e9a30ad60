"""`kgen verify`: execute every kernel of a bundle and compare it with the reference."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from kgen.cli import workers
from kgen.cli.model_check import print_results, verified
from kgen.cli.output import (
    RESOURCES,
    RESOURCES_LEGEND,
    end_progress,
    print_json,
    print_table,
    progress,
)

if TYPE_CHECKING:
    from kgen.check.model.steps import ProgramResult
    from kgen.check.profile import KernelProfile
    from kgen.check.verify.run import Coverage, KernelResult, VerificationReport
    from kgen_runtime.bundle import BundleFile
    from kgen_runtime.manifest import KernelEntry


#: Legend of the result columns, and how bounds are computed (kgen.check.oracle.tolerance).
BOUNDS = """
worst error: |kernel - reference| of the element with the largest share of its bound. A kernel is
wrong above 100% of the bound. The bound is the rounding of the output (half a step of its dtype)
plus c sqrt(K) u |A| |B| for sums of K products in an accumulator of unit roundoff u. Among many
elements one is rounded by almost half a step, so values up to 100% are normal and correct.
(docs/how-it-works/verification.md)
"""

#: Meaning of exit status 1.
FAILED = "a kernel, or with --model a program, is wrong"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.kgen", help="bundle to read")
    parser.add_argument(
        "--on",
        choices=("auto", "device", "emulator"),
        default="auto",
        help="where to execute; auto: on a device of this machine, else in the emulator "
        "(default: auto)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the data and the samples (default: 0)"
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        help="number of warp and workgroup orders that the emulator runs a kernel in; all but the "
        "first run few workgroups (default: 3)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="emulator: report writes of one value by several threads, and accesses ordered only "
        "by a warp collective, as faults instead of warnings",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="emulator: also count instructions, bank conflicts and memory traffic",
    )
    parser.add_argument(
        "--source",
        action="store_true",
        help="with --profile: show the counts beside each source line",
    )
    parser.add_argument(
        "--model",
        metavar="MODEL.onnx",
        help="programs: also run each step and the whole program and compare them with this model "
        "in f64",
    )
    parser.add_argument(
        "--nodes", action="store_true", help="with --model: list every step with its ONNX nodes"
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="with --model: array of an input (default: seeded random numbers)",
    )
    workers.configure_executor(parser, "verify kernels", jobs=1)


def run(args: argparse.Namespace) -> int:
    from kgen.bundle_file import SpecifiedBundle
    from kgen.check.execute.runners import Emulation
    from kgen.check.profile import profile
    from kgen.check.verify.run import verify
    from kgen.cli.counts import print_kernel_profile
    from kgen.emulate.arguments import number_of_seeds
    from kgen.emulate.schedules import SCHEDULES
    from kgen.errors import SpecError

    if args.seed < 0:
        raise SpecError(f"--seed {args.seed} is out of range; give 0 or more")
    if args.source and not args.profile:
        raise SpecError("--source needs --profile; add it")
    if args.profile and args.on == "device":
        raise SpecError("--profile counts in the emulator; replace --on device by --on emulator")
    if args.input and args.model is None:
        raise SpecError(f"--input {args.input[0]} needs --model MODEL.onnx; add it")
    if args.nodes and args.model is None:
        raise SpecError("--nodes needs --model MODEL.onnx; add it")
    schedules = SCHEDULES if args.seeds is None else number_of_seeds(args.seeds)
    emulation = Emulation(schedules=schedules, strict=args.strict)
    with SpecifiedBundle(args.file) as bundle:
        with workers.executor_of(args) as executor:
            report = verify(
                bundle,
                on=args.on,
                seed=args.seed,
                progress=progress,
                emulation=emulation,
                executor=executor,
            )
            results = _against_model(bundle, args, executor)
        profiles = profile(bundle, seed=args.seed, progress=progress) if args.profile else ()
        if args.json:
            programs = (
                {"programs": [r.to_json(nodes=args.nodes) for r in results]} if args.model else {}
            )
            print_json(report.to_json() | _profiles_json(profiles, args) | programs)
        else:
            end_progress()
            print_report(report)
            for kernel in profiles:
                end_progress()
                print_kernel_profile(kernel, source=args.source)
            if args.model:
                print_results(results, nodes=args.nodes)
        end_progress()
    return 0 if report.passed and all(result.passed for result in results) else 1


def _against_model(
    bundle: BundleFile, args: argparse.Namespace, executor: Executor | None
) -> list[ProgramResult]:
    if args.model is None:
        return []
    return verified(
        bundle, args.model, on=args.on, seed=args.seed, inputs=args.input, executor=executor
    )


def _profiles_json(profiles: Iterable[KernelProfile], args: argparse.Namespace) -> dict[str, Any]:
    if not args.profile:
        return {}
    return {"profiles": [kernel.to_json(lines=args.source) for kernel in profiles]}


def print_report(
    report: VerificationReport, built: Iterable[tuple[KernelEntry, float]] | None = None
) -> None:
    """Print the table of results.

    For new kernels, given with their build seconds, it includes their resources.
    """
    header = [
        "kernel", "target", "result", "worst error", "its bound", "of it", "executed on", "form",
        "workgroups",
    ]  # fmt: skip
    rows = [_row(result) for result in report.kernels]
    if built is not None:
        header += RESOURCES
        for row, (entry, seconds) in zip(rows, built, strict=True):
            used = entry.resources
            nbytes = sum(a.nbytes for a in entry.artifacts)
            row += [used.registers, used.spills, used.shared_memory, nbytes, seconds]
    print_table(header, rows)
    if any(result.tolerance is not None for result in report.kernels):
        print(BOUNDS)
    if built is not None:
        print(f"{RESOURCES_LEGEND}\n")
    for result in report.kernels:
        if result.reason:
            not_executed = "not executed: " if result.status == "not-executed" else ""
            print(f"{result.target}/{result.kernel}: {not_executed}{result.reason}")
        for warning in result.warnings:
            print(f"warning: {result.target}/{result.kernel}: {warning}")


def _row(result: KernelResult) -> list[object]:
    error, bound = result.max_error, result.tolerance
    return [
        result.kernel,
        result.target,
        result.status,
        error,
        bound,
        _part(error, bound),
        # Drivers append versions in parentheses.
        (result.executed_on or "-").partition(" (")[0],
        result.executed_form,
        _coverage(result.coverage),
    ]


def _part(error: float | None, bound: float | None) -> str | None:
    """Return the error as a percentage of its bound; a bound of zero requires an exact result."""
    if error is None or bound is None:
        return None
    if not bound:
        return "exact" if not error else "beyond"
    return f"{error / bound:.0%}" if math.isfinite(error) else "beyond"


def _coverage(coverage: Coverage | None) -> str | None:
    if coverage is None:
        return None
    if coverage.workgroups == coverage.of:
        return "all"
    return f"{coverage.workgroups} of {coverage.of}"
