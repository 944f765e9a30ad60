"""`kgen perf diff`: compare two bundles by metrics, source and machine code."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from kgen.cli.output import end_progress, print_json, print_table, progress

if TYPE_CHECKING:
    from kgen.check.gate.difference import KernelDiff


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD.kgen", help="bundle before the change")
    parser.add_argument("new", metavar="NEW.kgen", help="bundle after the change")
    parser.add_argument(
        "--metrics", action="store_true", help="compare metrics only, not source and machine code"
    )


def run(args: argparse.Namespace) -> int:
    from kgen.bundle_file import SpecifiedBundle
    from kgen.check.gate import difference

    with SpecifiedBundle(args.old) as old, SpecifiedBundle(args.new) as new:
        kernels = list(difference.compare(old, new, progress))
        only = {
            str(args.old): difference.only_in(old, new),
            str(args.new): difference.only_in(new, old),
        }
    end_progress()
    if args.json:
        print_json({"kernels": [kernel.to_json() for kernel in kernels], "only_in": only})
        return 0
    for kernel in kernels:
        _print(kernel, texts=not args.metrics)
    for path, names in only.items():
        for name in names:
            print(f"only in {path}: {name}")
    return 0


def _print(kernel: KernelDiff, *, texts: bool) -> None:
    print(kernel.name)
    changed = [change for change in kernel.changes if change.verdict != "same"]
    if changed:
        print_table(
            ("metric", "old", "new", ""),
            [(c.metric.name, c.old, c.new, c.verdict) for c in changed],
        )
    same = [c.metric.name for c in kernel.changes if c.verdict == "same"]
    print(f"same: {' '.join(same) or '-'}")
    for note in kernel.notes:
        print(note)
    if texts:
        for title, text in (("source", kernel.source), ("machine code", kernel.code)):
            print(f"\n{title}{'' if text else ': same'}")
            sys.stdout.write(text)
    print()
