"""Commands that may end with exit status 1."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import kgen.cli.commands
from scripts.reference.markdown import rows


def table() -> str:
    """Return one row per command."""
    return rows(("command", "exit status 1 means"), [(f"`{c}`", text) for c, text in found()])


def found() -> Iterator[tuple[str, str]]:
    """Yield each command that can fail, with the meaning of its failure."""
    folder = Path(kgen.cli.commands.__path__[0])
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        module = import_module(".".join((kgen.cli.commands.__name__, *parts)))
        if hasattr(module, "FAILED"):
            yield " ".join(("kgen", *parts)), module.FAILED
