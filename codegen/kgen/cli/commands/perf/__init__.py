"""`kgen perf`: the performance gate and its tools, with one module per sub-command."""

from __future__ import annotations

import argparse
from importlib import import_module

#: Sub-commands in the order of the help, with the line that describes each.
COMMANDS: tuple[tuple[str, str], ...] = (
    ("check", "check every kernel of a budgets file against its budgets"),
    ("update", "propose tighter budgets for kernels that improved"),
    ("add", "propose an entry for a kernel, with its current numbers"),
    ("diff", "compare two bundles: metrics, source and machine code"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        dest="perf_command", metavar="COMMAND", required=True, parser_class=type(parser)
    )
    for name, line in COMMANDS:
        command = commands.add_parser(name, help=line, description=line.capitalize() + ".")
        import_module(f"kgen.cli.commands.perf.{name}").configure(command)
        # A default here would override a --json before the sub-command.
        command.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
        )


def run(args: argparse.Namespace) -> int:
    status = import_module(f"kgen.cli.commands.perf.{args.perf_command}").run(args)
    assert isinstance(status, int)
    return status
