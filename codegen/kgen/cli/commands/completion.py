"""`kgen completion`: print a shell's completion script, generated from the command parsers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence

from kgen.cli import shells
from kgen.cli.parser import Parser

SHELLS = tuple(shells.SCRIPTS)
#: Options whose values are comma lists of names.
LISTS = ("--target", "--epilogue", "--scales", "--against", "--tier")
#: Metavars of arguments that are files.
FILES = (
    "FILE", "FILE.kgen", "OLD.kgen", "NEW.kgen", "FILE.md", "FILE.html", "FILE.svg", "MODEL.onnx",
    "TUNING",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=SHELLS, metavar="SHELL",
        help='bash: put eval "$(kgen completion bash)" into .bashrc; zsh: the same with zsh into '
        ".zshrc; fish: put kgen completion fish | source into config.fish",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    script = shells.SCRIPTS[args.shell](commands())
    if args.json:
        from kgen.cli.output import print_json

        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def commands() -> tuple[shells.Command, ...]:
    """Return `kgen` itself, then its commands and those of `perf`."""
    from kgen.cli.main import COMMANDS, parser

    names = {name for name, _ in COMMANDS}
    return tuple(_walk(parser(names), (), _values()))


def _walk(
    parser: argparse.ArgumentParser, path: tuple[str, ...], values: Mapping[str, Sequence[str]]
) -> Iterator[shells.Command]:
    children: list[tuple[str, str, Parser]] = []
    options, arguments = [], list[str]()
    takes_files = False
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            children = [(name, helps[name], child) for name, child in action.choices.items()]
        elif action.option_strings:
            options.append(_option(action, values))
        else:
            arguments += [str(choice) for choice in action.choices or ()]
            takes_files |= action.metavar in FILES
    yield shells.Command(
        path=path,
        options=tuple(options),
        children=tuple((name, line) for name, line, _ in children),
        arguments=tuple(arguments),
        takes_files=takes_files,
    )
    for name, _, child in children:
        yield from _walk(child, (*path, name), values)


def _option(action: argparse.Action, values: Mapping[str, Sequence[str]]) -> shells.Option:
    name = action.option_strings[-1]
    known = values.get(name, ()) if action.choices is None else map(str, action.choices)
    return shells.Option(
        names=tuple(action.option_strings),
        help=re.split(r";| \(", action.help or "")[0],
        takes_value=action.nargs != 0,
        values=tuple(known),
        is_list=name in LISTS,
        takes_files=action.metavar in FILES,
    )


def _values() -> dict[str, Sequence[str]]:
    """Return the values of options by option; an option means the same in every command."""
    from kgen import targets
    from kgen.check.gate.metrics import Tier
    from kgen.check.peers import PEERS
    from kgen.ops import functions
    from kgen.spec import ConvMath, DType, ImageLayout, Layout, Math, Scale, WeightLayout
    from kgen.spec.choices import steps_known
    from kgen.spec.conv2d import PADDINGS
    from kgen_runtime.select import BACKENDS

    names = [target.name for family in targets.families() for target in family.targets]
    return {
        "--target": (*names, "native"),
        "--arch": names,
        "--device": list(BACKENDS),
        "--op": ["matmul", "conv2d", *functions()],
        "--dtype": list(DType),
        "--out-dtype": list(DType),
        "--layout": [*Layout, *ImageLayout],
        "--weight-layout": list(WeightLayout),
        "--padding": list(PADDINGS),
        "--epilogue": list(steps_known()),
        "--math": list(dict.fromkeys((*Math, "winograd", *ConvMath))),
        "--scales": list(Scale),
        "--against": list(PEERS),
        "--tier": list(Tier),
    }
