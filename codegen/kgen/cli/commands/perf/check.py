"""`kgen perf check`: run the gate; exit 1 if a budget is broken, naming the cause."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from kgen import suggest
from kgen.cli.commands.perf import options
from kgen.cli.lists import comma_list
from kgen.cli.output import end_progress, print_json, progress
from kgen.errors import BudgetError
from kgen_runtime.files import replacing

if TYPE_CHECKING:
    from kgen.check.gate.judge import GateReport
    from kgen.check.gate.metrics import Tier

#: Meaning of exit status 1.
FAILED = "a budget is broken, or the emulator found a fault in a kernel"


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_budgets(parser)
    options.add_targets(parser)
    parser.add_argument(
        "--tier", metavar="T,...", default="static,emulated,measured",
        help="tiers to check (default: static,emulated,measured)",
    )  # fmt: skip
    parser.add_argument(
        "--summary", metavar="FILE.md", help="also write the result into a Markdown file"
    )


def run(args: argparse.Namespace) -> int:
    from kgen.check.gate import budgets
    from kgen.check.gate.run import check

    tiers = _tiers(args.tier)
    loaded = budgets.load(args.budgets)
    entries = options.chosen(loaded, args.target)
    report = check(loaded, entries, tiers=tiers, progress=progress)
    end_progress()
    if args.summary is not None:
        _write_summary(args.summary, report)
    if args.json:
        print_json(report.to_json())
    else:
        _print(report)
    return 0 if report.passed else 1


def _tiers(text: str) -> tuple[Tier, ...]:
    from kgen.check.gate.metrics import Tier

    names = comma_list(text)
    for name in names:
        if name not in tuple(Tier):
            raise BudgetError(suggest.unknown(f"--tier {name}", name, Tier))
    return tuple(map(Tier, names))


def _write_summary(path: str, report: GateReport) -> None:
    from kgen.check.gate.summary import markdown

    try:
        with replacing(Path(path)) as file:
            file.write(markdown(report).encode())
    except OSError as error:
        raise BudgetError(
            f"--summary {path} cannot be written: {error.strerror}; name another file"
        ) from None


def _print(report: GateReport) -> None:
    from kgen.check.gate.summary import broken_lines, conclusion, table

    for line in (*table(report), "", *broken_lines(report), *conclusion(report)):
        print(line)
