"""`kgen bench`: time kernels side by side with libraries; print medians and quartiles."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kgen.cli.lists import comma_list
from kgen.cli.output import end_progress, number, print_json, print_table, progress

if TYPE_CHECKING:
    from kgen.check.bench.run import PeerResult


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.kgen", help="bundle to read")
    parser.add_argument(
        "--device", metavar="D", help="cpu, cuda:1, vulkan, ... (default: the best device here)"
    )
    parser.add_argument(
        "--against",
        default="numpy",
        metavar="L,...",
        help="comma list of libraries: numpy, torch, torch-compile, cublas, onednn (from C), iree; "
        "with packed weights: torch-onednn, torch-mkl, onednn-packed; limits of the CPU: peak, "
        "tiles, read, copy, convert (default: numpy)",
    )
    parser.add_argument(
        "--threads", type=int, metavar="N",
        help="CPU threads of kgen and of the libraries (default: all cores)",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, default=15, help="rounds that alternate kernels (default: 15)"
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="cold caches, as for the weights of a model: each call reads the next of many copies "
        "of its operands (default: warm caches, one copy)",
    )


def run(args: argparse.Namespace) -> int:
    from kgen.check.bench.run import bench
    from kgen.cli.programs import check_threads
    from kgen.errors import SpecError

    if args.rounds < 1:
        raise SpecError(f"--rounds {args.rounds} is out of range; give 1 or more")
    check_threads(args.threads)
    report = bench(
        args.file,
        device=args.device,
        num_threads=args.threads,
        against=[name for name in comma_list(args.against) if name],
        rounds=args.rounds,
        is_cold=args.cold,
        progress=progress,
    )
    end_progress()
    if args.json:
        print_json(report.to_json())
        return 0
    rows = []
    for result in report.kernels:
        rows.append(
            (
                result.kernel,
                result.target,
                result.device,
                result.seconds * 1e6,
                " to ".join(number(seconds * 1e6) for seconds in result.quartiles),
                result.gflops,
                result.gbytes,
                "-" if result.roofline is None else f"{result.roofline:.0%}",
                ", ".join(map(_ratio, result.peers)),
            )
        )
    header = (
        "kernel", "target", "device", "median us", "quartiles us", "GFLOP/s", "GB/s", "roofline",
        "speed against",
    )  # fmt: skip
    print_table(header, rows)
    for result in report.kernels:
        for peer in result.peers:
            if peer.reason:
                print(f"{peer.name}: {peer.reason}")
        if result.warm is not None:
            print(f"{result.kernel}: --cold: {result.warm}")
        if (disturbed := result.disturbed) is not None:
            print(
                f"{result.kernel}: busy machine: {disturbed}; "
                "do not rely on these figures; repeat them on a quiet machine"
            )
    timed = {result.kernel for result in report.kernels}
    for name, reason in report.skipped.items():
        if name.partition("/")[2] not in timed:
            print(f"{name}: not timed: {reason}")
    return 0


def _ratio(peer: PeerResult) -> str:
    """Return the speed relative to a library as text, with the quartiles of the ratio."""
    if peer.ratio is None or peer.quartiles is None:
        return f"{peer.name}: -"
    first, third = peer.quartiles
    return f"{peer.ratio:.2f}x {peer.name} ({first:.2f}x to {third:.2f}x)"
