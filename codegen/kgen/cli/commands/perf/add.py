"""`kgen perf add`: propose a budget entry for a kernel, with its current numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgen.cli import problem
from kgen.cli.commands.perf import options
from kgen.cli.lists import comma_list
from kgen.cli.output import end_progress, print_json, progress
from kgen.errors import SpecError
from kgen.spec.text import FORM

#: Options that describe the launch of a file's kernel.
LAUNCH = ("entry", "grid", "block", "cluster", "dynamic_shared", "arguments")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kernel", metavar="KERNEL",
        help=f"kernel as text, of the form {FORM}; or a file of PTX (.ptx) or AMDGPU LLVM IR (.ll)",
    )  # fmt: skip
    parser.add_argument(
        "--target", metavar="T,...", help="comma list of targets; each gets an entry"
    )
    parser.add_argument("--why", metavar="TEXT", required=True, help="what the kernel is for")
    parser.add_argument("--schedule", metavar="F=N,...", help="schedule fields to set")
    launch = parser.add_argument_group("launch of a file's kernel, as for kgen emulate")
    launch.add_argument("--entry", metavar="NAME", help="name of the kernel in the file")
    launch.add_argument("--grid", metavar="X,Y,Z", help="workgroups (CTAs)")
    launch.add_argument("--block", metavar="X,Y,Z", help="threads per workgroup")
    launch.add_argument("--cluster", metavar="X,Y,Z", help="CTAs of a cluster (PTX)")
    launch.add_argument(
        "--dynamic-shared", metavar="BYTES", help="dynamic shared memory (default: 0)"
    )
    launch.add_argument(
        "--arg", action="append", metavar="A", dest="arguments",
        help="an argument, repeated in order: in:a.npy, inout:a.npy, out:f32:64x64, i32:1024, "
        "tensormap:{...}",
    )  # fmt: skip
    options.add_budgets(parser)
    parser.add_argument("--write", action="store_true", help="append the entry to the budgets file")


def run(args: argparse.Namespace) -> int:
    from kgen.check.gate import entries, tighten
    from kgen.check.gate.metrics import Tier
    from kgen.check.gate.run import values_of

    path = Path(args.budgets)
    drafts = _drafts(args, path)
    if args.write:
        tighten.check_place(path)
    text = entries.existing(path)
    found = {}
    for draft in drafts:
        entry = entries.read_draft(text, draft, path)
        progress(entry.name)
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


def _drafts(args: argparse.Namespace, path: Path) -> list[str]:
    """Return entries without numbers: one per target, or one for a file. Raises SpecError."""
    from kgen import targets
    from kgen.check.gate import entries, foreign
    from kgen.emulate.arguments import whole
    from kgen.spec.text import parse

    if not foreign.is_source(args.kernel):
        for name in LAUNCH:
            if getattr(args, name) is not None:
                option = "arg" if name == "arguments" else name.replace("_", "-")
                raise SpecError(
                    f"--{option} describes the launch of a .ptx or .ll file, and {args.kernel} is "
                    "not one; leave it out"
                )
        if args.target is None:
            raise SpecError(f"{args.kernel} has no target; add --target sm_80, or a comma list")
        parse(args.kernel)
        schedule = problem.schedule_fields(args.schedule)
        names = [targets.find(name).name for name in comma_list(args.target)]
        return [entries.draft(args.kernel, name, schedule, args.why) for name in names]
    for name in ("target", "schedule"):
        if getattr(args, name) is not None:
            raise SpecError(
                f"--{name} does not apply to the file {args.kernel}, which is measured unchanged; "
                "leave it out"
            )
    for name in foreign.REQUIRED[1:]:
        if getattr(args, name) is None:
            raise SpecError(f"{args.kernel} needs --{name}, as for kgen emulate; add it")
    launch = foreign.ForeignLaunch(
        file=args.kernel,
        entry=args.entry,
        grid=args.grid,
        block=args.block,
        arguments=tuple(args.arguments or ()),
        cluster=args.cluster or "1",
        dynamic_shared=whole("dynamic-shared", args.dynamic_shared or "0", 0),
    )
    return [entries.foreign_draft(foreign.relative(launch, path.parent), args.why)]
