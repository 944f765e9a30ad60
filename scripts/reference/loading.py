"""Arguments of kgen_runtime.load, the backends, and the members of loaded objects."""

from __future__ import annotations

import inspect
import re

import kgen_runtime
from kgen_runtime import select
from kgen_runtime.calls.program import LoadedProgram
from scripts.reference.comments import field_comments, summary
from scripts.reference.markdown import rows

#: Loaded classes, and members that only the package uses.
CLASSES = {
    kgen_runtime.Kernels: (),
    LoadedProgram: ("input_names", "output_names", "state_names", "close"),
}


def arguments() -> str:
    """Return one row per argument of `load`, from the list in its docstring."""
    found = re.findall(
        r"^- `(\w+)`: (.*(?:\n  .*)*)", inspect.getdoc(kgen_runtime.load) or "", re.M
    )
    cells = [(f"`{name}`", " ".join(text.split())) for name, text in found]
    if [name for name, _ in found] != [*inspect.signature(kgen_runtime.load).parameters]:
        raise SystemExit("kgen_runtime.load: its docstring does not list its arguments in order")
    return rows(("argument of `load`", "value"), cells)


def devices() -> str:
    """Return one row per backend, best first."""
    cells = [
        (f"`{name}`", "no" if name in select.ON_REQUEST else "yes", text)
        for name, text in select.REQUIREMENTS.items()
    ]
    return rows(("device", "chosen by default", "requires"), cells)


def members() -> str:
    """Return a table for each class. Raises SystemExit for a member without a docstring."""
    parts = []
    for cls, internal in CLASSES.items():
        cells = [(f"`{name}`", text) for name, text in field_comments(cls).items()]
        for name, member in vars(cls).items():
            if not name.startswith("_") and name not in internal:
                cells.append((f"`{call(name, member)}`", summary(member)))
        if missing := [name for name, text in cells if not text]:
            raise SystemExit(f"{cls.__name__}: {missing[0]} has no docstring")
        parts.append(
            f"### `{cls.__name__}`\n\n{summary(cls)}\n\n{rows(('member', 'meaning'), cells)}"
        )
    return "\n" + "\n".join(parts) + "\n"


def call(name: str, member: object) -> str:
    """Return a property's name, or a method's name with its parameters and defaults."""
    if not inspect.isfunction(member):
        return name
    _, *found = inspect.signature(member).parameters.values()
    bare = [p.replace(annotation=p.empty) for p in found]
    return f"{name}{inspect.Signature(bare)}"
