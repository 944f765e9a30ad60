"""`kgen build`: build kernels for fixed problems and a list of targets into one bundle."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from kgen.cli import problem, workers
from kgen.cli.commands.verify import print_report
from kgen.cli.explain import explanation, print_explanation
from kgen.cli.lists import comma_list
from kgen.cli.output import (
    RESOURCES,
    RESOURCES_LEGEND,
    end_progress,
    print_json,
    print_table,
    progress,
)
from kgen.cli.parser import Parser

if TYPE_CHECKING:
    from kgen.bundle import Bundle
    from kgen.constants import Array


#: Schedule fields that name the tile: a block tile (GPUs), a tile of attention, a register tile
#: (CPUs).
TILES = (
    ("block_m", "block_n", "block_k"),
    ("block_m", "block_n"),
    ("block_q", "block_k"),
    ("mr", "nr"),
)
TILE_LEGEND = (
    "block tile, MxNxK elements, of a GPU matmul; register tile, MxN, of a CPU matmul; "
    "queries x keys of attention."
)
#: Replacement for options of a former version.
TUNE = "run kgen tune with the same kernels, then kgen build --tuning kgen-tuning.toml"

#: Meaning of exit status 1.
FAILED = "with --verify: a kernel is wrong; nothing is written"


def configure(parser: Parser) -> None:
    parser.add_argument(
        "--target", required=True, metavar="T,...",
        help="comma list of targets: sm_80, gfx942, vulkan1.3, x86-64-v4, native, ... (list them "
        "with kgen targets)",
    )  # fmt: skip
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="bundle to write (default: KERNEL.kgen, or kernels.kgen for several)",
    )
    parser.add_argument(
        "--schedule", metavar="F=N,...",
        help="set schedule fields: mainloop=mma,block_m=128,num_stages=4,...",
    )  # fmt: skip
    parser.add_argument(
        "--verify",
        action="store_true",
        help="first execute every kernel and compare it with a scalar reference; write nothing if "
        "one is wrong",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show the schedules that were compared, their predicted times and the choice",
    )
    workers.configure_tuning(parser)
    parser.former |= dict.fromkeys(("--tune", "--cold", "--tune-cache"), TUNE)
    workers.configure(parser)
    problem.configure(parser)


def run(args: argparse.Namespace) -> int:
    from kgen.building import build
    from kgen.bundle import check_output

    specs = problem.specs_of(args)
    name = problem.bundle_name(args, specs) if args.output is None else args.output
    output = check_output(name)
    constants = problem.constants_of(args)
    tuning = workers.tuning_of(args)
    with workers.executor_of(args) as executor:
        bundle = build(
            specs,
            targets=comma_list(args.target),
            schedule=problem.schedule_fields(args.schedule),
            constants=constants,
            tuning=tuning,
            progress=progress,
            executor=executor,
            cache=not args.no_cache,
        )
        end_progress()
        if args.verify and not _verified(bundle, args, executor):
            return 1
    bundle.save(output)
    rows = [
        {
            "kernel": entry.key,
            "target": entry.target.name,
            "schedule": dict(entry.schedule),
            "resources": vars(entry.resources),
            "bytes": sum(a.nbytes for a in entry.artifacts),
            "seconds": kernel.seconds,
        }
        for entry, kernel in zip(bundle.manifest.kernels, bundle.kernels, strict=True)
    ]
    if args.explain and args.json:
        rows = [
            row | {"explanation": explanation(kernel, tuning)}
            for row, kernel in zip(rows, bundle.kernels, strict=True)
        ]
    if args.json:
        print_json({"bundle": str(output), "kernels": rows, "remarks": remarks(constants)})
    else:
        for kernel in bundle.kernels if args.explain else ():
            print_explanation(kernel, tuning)
        if not args.verify:
            _print(rows)
        for entry in bundle.manifest.kernels:
            for finding in entry.resources.findings or ():
                print(f"{entry.name}: ptxas warns {finding}")
        for remark in remarks(constants):
            print(remark)
        print(f"wrote {output} ({output.stat().st_size} bytes)")
    return 0


def remarks(constants: Mapping[str, Array]) -> list[str]:
    """Return remarks about constants that are legal but perhaps not intended."""
    if not constants:
        return []
    from kgen.constants import count_not_finite

    counts = {name: count_not_finite(array) for name, array in constants.items()}
    return [
        f"constant {name}: {count} of {constants[name].size} elements are NaN or infinite"
        for name, count in counts.items()
        if count
    ]


def _verified(bundle: Bundle, args: argparse.Namespace, executor: Executor | None) -> bool:
    """Verify the bundle, on a cluster if one was named, and print results with resources."""
    from kgen.check.verify.run import verify

    elsewhere = executor if args.executor is not None else None
    report = verify(bundle, progress=progress, executor=elsewhere)
    end_progress()
    if not args.json:
        seconds = [kernel.seconds for kernel in bundle.kernels]
        print_report(report, zip(bundle.manifest.kernels, seconds, strict=True))
    elif not report.passed:
        print_json(report.to_json())
    return report.passed


def _print(rows: list[dict[str, object]]) -> None:
    table = []
    for row in rows:
        schedule, resources = row["schedule"], row["resources"]
        assert isinstance(schedule, dict) and isinstance(resources, dict)
        names = next((each for each in TILES if {*each} <= schedule.keys()), ())
        tile = [str(schedule[name]) for name in names]
        table.append(
            (
                row["kernel"],
                row["target"],
                schedule["mainloop"],
                "x".join(tile) or None,
                resources["registers"],
                resources["spills"],
                resources["shared_memory"],
                row["bytes"],
                row["seconds"],
            )
        )
    print_table(("kernel", "target", "mainloop", "tile", *RESOURCES), table)
    print(f"\ntile: {TILE_LEGEND}\n{RESOURCES_LEGEND}")
