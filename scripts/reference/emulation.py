"""Options and arguments of `kgen emulate`, tensor maps, and numerics of matrix instructions."""

from __future__ import annotations

import argparse

from kgen.cli.commands import emulate
from kgen.emulate.arguments import MEANINGS
from kgen.emulate.numerics import Numerics
from kgen.emulate.tensor_map import TensorMap
from scripts.reference.comments import field_comments
from scripts.reference.markdown import rows


def options() -> str:
    """Return one row per option, in the order of `--help`."""
    parser = argparse.ArgumentParser(add_help=False)
    emulate.configure(parser)
    actions = parser._actions
    return rows(("option", "meaning"), [(f"`{form(a)}`", str(a.help)) for a in actions])


def form(action: argparse.Action) -> str:
    """Return the name of an option, and of its value."""
    return " ".join([*action.option_strings, *([str(action.metavar)] if action.metavar else [])])


def arguments() -> str:
    """Return one row per kind of `--arg`."""
    header = ("argument", "the kernel receives", "written afterwards")
    return rows(header, [(f"`{kind}`", *meaning) for kind, meaning in MEANINGS.items()])


def tensor_map_fields() -> str:
    """Return one row per field of a tensor map's JSON."""
    fields = field_comments(TensorMap)
    del fields["buffer"]
    for name in ("dtype", "shape"):
        fields[name] += "; default: that of the array"
    tensor = "an array argument, or the number of an earlier argument, counted from 0"
    cells = {"tensor": tensor, **fields}.items()
    return rows(("field", "meaning"), [(f"`{name}`", text) for name, text in cells])


def numerics() -> str:
    """Return one row per option of matrix instructions."""
    cells = field_comments(Numerics).items()
    return rows(("field", "meaning"), [(f"`{name}`", text) for name, text in cells])
