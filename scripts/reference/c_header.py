"""Functions and types of the C runtime, from the comments of runtime/c/kgen.h."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.reference.markdown import rows

HEADER = Path(__file__).parents[2] / "runtime" / "c" / "kgen.h"
_SECTION = re.compile(r"^/\* ---- (\w+) -+ \*/\n", re.MULTILINE)
#: Comment, then the declarations that it describes, up to an empty line.
_GROUP = re.compile(r"^(?:/\*(?P<comment>(?:(?!\*/).)*?)\*/\n)?(?P<code>[^/\n].*)", re.DOTALL)
_FUNCTION = re.compile(r"\b(kgen_\w+)\(")
_TYPE = re.compile(r"typedef (?:enum|struct) (?P<name>\w+) \{\n(?P<members>.*?)\n\}", re.DOTALL)
_MEMBER = re.compile(
    r"^ +(?:[\w ]+?[ *])??(?P<name>\w+)(?:\[\w+\]| = 0)?[;,]? *(?:/\*(?P<comment>.*?)\*/)?$",
    re.DOTALL | re.MULTILINE,
)


def functions() -> str:
    """Return a heading and a table for each section. Raises SystemExit for a group of functions
    without a comment."""
    parts = []
    for section, groups in sections():
        cells = []
        for comment, code in groups:
            if names := _FUNCTION.findall(code):
                if not comment:
                    raise SystemExit(f"{HEADER.name}: {names[0]} has no comment")
                cells.append((", ".join(f"`{name}`" for name in names), comment))
        table = rows(("function", "meaning"), cells)
        parts.append(f"### Functions of {section}\n\n{table}")
    return "\n" + "\n".join(parts) + "\n"


def types() -> str:
    """Return a heading, a sentence and a table for each type whose members have comments."""
    parts = []
    for _, groups in sections():
        for comment, code in groups:
            found = _TYPE.match(code)
            if found and (cells := [*members(found["members"])]):
                table = rows(("member", "meaning"), cells)
                parts.append(f"### `{found['name']}`\n\n{comment}\n\n{table}")
    return "\n" + "\n".join(parts) + "\n"


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each section with its groups: a comment, and the declarations below it."""
    _, *found = _SECTION.split(HEADER.read_text())
    for section, text in zip(found[::2], found[1::2], strict=True):
        groups = [_GROUP.match(group) for group in text.strip().split("\n\n")]
        yield section, [(line(group["comment"] or ""), group["code"]) for group in groups if group]


def members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and comment of each member that has a comment."""
    for found in _MEMBER.finditer(text):
        if found["comment"]:
            yield f"`{found['name']}`", line(found["comment"])


def line(comment: str) -> str:
    """Return the text of a comment as one line, with names of the header as code."""
    text = " ".join(word for word in comment.split() if word != "*")
    return re.sub(r"(?<![\w`])(kgen_\w+|KGEN_\w+)(?![\w`])", r"`\1`", text)
