"""`kgen perf update`: propose tighter budgets for kernels that improved; never looser ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgen.cli.commands.perf import options
from kgen.cli.output import end_progress, print_json, print_table, progress

#: Meaning of exit status 1.
FAILED = "a budget is broken"


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_budgets(parser)
    options.add_targets(parser)
    parser.add_argument(
        "--write", action="store_true", help="write the new numbers into the budgets file"
    )


def run(args: argparse.Namespace) -> int:
    """Propose tighter budgets, and write them with `--write`; exit 1 if a budget is broken.

    A broken budget is for a person: fix the kernel, or loosen the budget and add a `why`.
    """
    from kgen.check.gate import budgets, tighten
    from kgen.check.gate.metrics import Tier
    from kgen.check.gate.run import check
    from kgen.check.gate.summary import broken_lines, percent

    if args.write:
        tighten.check_place(Path(args.budgets))
    loaded = budgets.load(args.budgets)
    entries = options.chosen(loaded, args.target)
    report = check(loaded, entries, tiers=(Tier.STATIC, Tier.EMULATED), progress=progress)
    end_progress()
    proposals = tighten.proposals(report)
    if args.write and proposals:
        tighten.write(loaded.path, tighten.rewrite(loaded, proposals))
    if args.json:
        changes = [proposal.to_json() for proposal in proposals]
        print_json({"passed": report.passed, "written": args.write, "changes": changes})
        return 0 if report.passed else 1
    if proposals:
        rows = []
        for proposal in proposals:
            before, after = proposal.limit.value, proposal.after
            change = percent((after - before) / before if before else None)
            rows.append((proposal.entry.name, proposal.limit.metric.name, before, after, change))
        print_table(("kernel", "metric", "before", "after", "change"), rows)
        print()
    for line in broken_lines(report):
        print(line)
    print(_conclusion(len(proposals), args))
    return 0 if report.passed else 1


def _conclusion(count: int, args: argparse.Namespace) -> str:
    if not count:
        return f"{args.budgets}: no budget can be tightened"
    if args.write:
        return f"{args.budgets}: {count} budgets tightened"
    return f"{count} budgets can be tightened; --write puts these numbers into {args.budgets}"
