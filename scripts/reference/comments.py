"""Comments (`#:`) above the fields of a class, read from its source."""

from __future__ import annotations

import ast
import inspect
import sys
from types import ModuleType


def field_comments(cls: type) -> dict[str, str]:
    """Return the comment of each field that a class declares itself. Raises SystemExit for a field
    without one."""
    source = inspect.getsource(sys.modules[cls.__module__])
    lines = source.splitlines()
    (tree,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__
    )
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if "ClassVar" in ast.unparse(node.annotation):
                continue
            name = node.target.id
            found[name] = _comment_above(lines, node.lineno - 1)
            if not found[name]:
                raise SystemExit(f"{cls.__module__}: {cls.__name__}.{name} has no comment `#:`")
    return found


def _comment_above(lines: list[str], end: int) -> str:
    begin = end
    while lines[begin - 1].lstrip().startswith("#:"):
        begin -= 1
    return " ".join(line.strip().removeprefix("#:").strip() for line in lines[begin:end])


def constant_comments(module: ModuleType) -> list[tuple[object, str]]:
    """Return the value and the comment of each constant of a module that has a comment."""
    source = inspect.getsource(module)
    lines, found = source.splitlines(), []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and (text := _comment_above(lines, node.lineno - 1)):
            found.append((getattr(module, ast.unparse(node.targets[0])), text))
    return found


def summary(described: object) -> str:
    """Return the first paragraph of a docstring, as one line."""
    return " ".join((described.__doc__ or "").partition("\n\n")[0].split())
