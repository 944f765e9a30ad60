"""`kgen report`: write a page about a program: graph, times, rooflines, memory, checks."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kgen.bundle_file import SpecifiedBundle
from kgen.cli import programs
from kgen.cli.output import end_progress, print_json, progress
from kgen.errors import DeviceError, SpecError
from kgen.report.figures import Check
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import Manifest
from kgen_runtime.schema.program import Program

if TYPE_CHECKING:
    from kgen.report.page import PageContent

#: Meaning of exit status 1.
FAILED = "with --verify or --model: a check failed"


def configure(parser: argparse.ArgumentParser) -> None:
    programs.configure(parser, threads=1)
    parser.add_argument(
        "-o", "--output", metavar="FILE.html", help="page to write (default: BUNDLE.html)"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also execute the program's kernels and compare them with a scalar reference",
    )
    parser.add_argument(
        "--model",
        metavar="MODEL.onnx",
        help="also run each step and the whole program and compare them with this model in f64",
    )


def run(args: argparse.Namespace) -> int:
    from kgen.bundle import check_output, writing
    from kgen.report.page import page

    programs.check_threads(args.threads)
    output = check_output(f"{Path(args.file).stem}.html" if args.output is None else args.output)
    with SpecifiedBundle(args.file) as bundle:
        facts = _facts(args, bundle)
    text = page(facts)
    with writing(output) as file:
        file.write(text.encode(errors="backslashreplace"))
    end_progress()
    failed = [check for check in facts.checks if check.passed is False]
    if args.json:
        print_json(
            {
                "report": str(output),
                "program": facts.program.qualified_name,
                "seconds": facts.times and facts.times.total,
                "measured": facts.times is not None and facts.times.measured,
                "checks": [vars(check) for check in facts.checks],
            }
        )
    else:
        for check in failed:
            print(f"{check.name}: {check.finding}")
        print(f"wrote {output} ({output.stat().st_size} bytes): {facts.program.qualified_name}")
    return 1 if failed else 0


def _facts(args: argparse.Namespace, bundle: BundleFile) -> PageContent:
    import kgen_runtime
    from kgen.report import figures, measure
    from kgen.report.page import PageContent

    manifest = bundle.manifest
    program = programs.program_of(manifest, args.program)
    kernels = {entry.name: entry for entry in manifest.kernels}
    times = ceilings = None
    try:
        with kgen_runtime.load(args.file, device=args.device, num_threads=args.threads) as loaded:
            here = loaded.programs.get(program.name)
            if here is not None and (args.program is None or here.entry == program):
                program = here.entry
                progress(f"timing {program.qualified_name}")
                inputs = programs.filled(here, programs.arrays(args.input))
                times = measure.profiled(here, inputs, args.threads)
                if loaded.device.backend == "cpu":
                    ceilings = measure.measured_ceilings(program, kernels, progress)
        runs = Check(name="runs here", passed=True, finding=times.source) if times else None
    except DeviceError as error:
        if args.device is not None:
            raise
        runs = Check(name="runs here", passed=None, finding=str(error))
    if runs is None:
        other = "this machine runs a different program of the bundle"
        runs = Check(name="runs here", passed=None, finding=other)
    if args.input and not (times and times.measured):
        raise SpecError(
            f"--input {args.input[0]}: {program.qualified_name} does not run on this machine, so "
            "it takes no input; leave --input out"
        )
    times = times or measure.estimated(program, kernels)
    return PageContent(
        bundle=Path(args.file).name,
        program=program,
        kernels=kernels,
        others=tuple(p for p in manifest.programs if p != program),
        provenance=manifest.provenance,
        times=times,
        ceilings=ceilings or measure.known_ceilings(program, kernels),
        works=figures.works(program, kernels, times),
        sizes=figures.sizes(program, manifest, Path(args.file).stat().st_size),
        checks=(runs, *_checks(args, program, bundle)),
    )


def _checks(args: argparse.Namespace, program: Program, bundle: BundleFile) -> Iterator[Check]:
    """Yield the checks: digests always, kernels and program on request."""
    progress("checking digests")
    entries = [entry for entry in bundle.manifest.kernels if entry.name in program.kernels]
    for entry in entries:
        for artifact in entry.files:
            bundle.read(artifact)
    for weight in program.weights:
        bundle.weight(weight, check=True)
    count = sum(len(entry.files) for entry in entries)
    finding = f"{count} files of kernels and {len(program.weights)} weights are undamaged"
    yield Check(name="digests", passed=True, finding=finding)
    yield _kernels(args, program, bundle)
    yield _model(args, program, bundle)


def _kernels(args: argparse.Namespace, program: Program, bundle: BundleFile) -> Check:
    name = "kernels against the reference"
    if not args.verify:
        return Check(name=name, passed=None, finding="not run; add --verify to kgen report")
    from kgen.check.verify.run import MemoryReader, verify

    entries = [entry for entry in bundle.manifest.kernels if entry.name in program.kernels]
    own = MemoryReader(
        manifest=Manifest(kernels=tuple(entries), provenance=bundle.manifest.provenance),
        files={a.file: bundle.read(a) for entry in entries for a in entry.artifacts},
    )
    results = verify(own, progress=progress).kernels
    wrong = [f"{r.kernel}: {r.reason}" for r in results if not r.passed]
    finding = f"{len(results) - len(wrong)} of {len(results)} are correct"
    return Check(name=name, passed=not wrong, finding="; ".join([finding, *wrong]))


def _model(args: argparse.Namespace, program: Program, bundle: BundleFile) -> Check:
    name = "steps against the model"
    if args.model is None:
        return Check(
            name=name, passed=None, finding="not run; add --model MODEL.onnx to kgen report"
        )
    from kgen.cli.model_check import verified

    (result,) = verified(bundle, args.model, only=program.qualified_name)
    if not result.executed:
        return Check(name=name, passed=False, finding=f"not executed: {result.reason}")
    right = sum(step.passed for step in result.steps)
    worst = max(result.outputs.values(), default=0.0)
    words = [f"{right} of {len(result.steps)} steps are correct on {result.on}"]
    if result.outputs:
        words.append(f"the largest error of an output is {worst:.3g} times its bound")
    if (wrong := result.first_wrong) is not None:
        words.append(f"step {wrong.number}, {', '.join(wrong.nodes)}, is wrong")
    if result.reason:
        words.append(result.reason)
    return Check(name=name, passed=result.passed, finding="; ".join(words))
