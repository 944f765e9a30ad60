"""`kgen perf add`: an entry for a kernel, with its numbers of today."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgen.cli import problem
from kgen.cli.commands.perf import options
from kgen.cli.lists import comma_list
from kgen.cli.output import end_progress, print_json, progress
from kgen.spec.text import FORM


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL", help=f"what it computes: {FORM}")
    parser.add_argument("--target", metavar="T,...", required=True, help="an entry for each")
    parser.add_argument("--why", metavar="TEXT", required=True, help="why these numbers matter")
    parser.add_argument("--schedule", metavar="F=N,...", help="fields of the schedule to set")
    options.add_budgets(parser)
    parser.add_argument("--write", action="store_true", help="append it to the file")


def run(args: argparse.Namespace) -> int:
    from kgen import targets
    from kgen.check.gate import entries, tighten
    from kgen.check.gate.metrics import Tier
    from kgen.check.gate.run import values_of
    from kgen.spec.text import parse

    parse(args.kernel)
    names = [targets.find(name).name for name in comma_list(args.target)]
    schedule = problem.schedule_fields(args.schedule)
    path = Path(args.budgets)
    if args.write:
        tighten.check_place(path)
    text = entries.existing(path)
    found = {}
    for name in names:
        progress(f"{name}: {args.kernel}")
        draft = entries.draft(args.kernel, name, schedule, args.why)
        entry = entries.read_draft(text, draft, path)
        values = values_of(entry, (Tier.STATIC, Tier.EMULATED))
        found[draft + "".join(entries.numbers(entry, values))] = entry
    end_progress()
    if args.write:
        tighten.write(path, entries.appended(text, found))
    if args.json:
        print_json({"written": args.write, "entries": list(found)})
        return 0
    print("\n".join(found), end="")
    print(f"# {'appended to' if args.write else '--write appends this to'} {path}")
    return 0
