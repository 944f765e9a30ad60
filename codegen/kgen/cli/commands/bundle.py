"""`kgen bundle`: operations on whole bundles; `merge` is the only one."""

from __future__ import annotations

import argparse

from kgen.cli.output import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        dest="bundle_command", metavar="COMMAND", required=True, parser_class=type(parser)
    )
    line = "write the kernels and programs of several bundles into one"
    merge = commands.add_parser("merge", help=line, description=line.capitalize() + ".")
    merge.add_argument("files", nargs="+", metavar="FILE.kgen", help="bundles to read")
    merge.add_argument("-o", "--output", required=True, metavar="FILE", help="bundle to write")
    # A default here would override a --json before the sub-command.
    merge.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
    )


def run(args: argparse.Namespace) -> int:
    from kgen.bundle import check_output
    from kgen.merge import merge

    output = check_output(args.output)
    merged = merge(args.files)
    merged.save(output)
    names = [entry.name for entry in merged.manifest.kernels]
    if args.json:
        print_json({"bundle": str(output), "kernels": names})
    else:
        print("\n".join(names))
        print(f"wrote {output} ({output.stat().st_size} bytes)")
    return 0
