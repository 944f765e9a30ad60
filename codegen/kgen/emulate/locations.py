"""Which line of the programmer's own source each line of PTX was compiled from.

Compilers say it with `.file` and `.loc` (PTX ISA 11.5, debugging directives): `nvcc -lineinfo`,
clang and Triton with debug information. A `.loc` holds for the instructions up to the next one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from kgen.emulate.report import LineCounts

#: A line, counted from 1, of a file.
Place = tuple[Path, int]

_SUMS = tuple(field.name for field in fields(LineCounts) if field.name != "kind")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', re.M)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\b")


def places(source: str) -> dict[int, Place]:
    """The place of every line of a PTX text that has one; files by the names that the text has."""
    files = {number: Path(name) for number, name in _FILE.findall(source)}
    found: dict[int, Place] = {}
    current: Place | None = None
    for number, line in enumerate(source.splitlines(), 1):
        if (loc := _LOC.match(line)) is not None and loc[1] in files:
            # Line 0 is what no line of the source asked for.
            current = (files[loc[1]], int(loc[2])) if int(loc[2]) else None
        elif line.startswith("}"):
            current = None
        elif current is not None:
            found[number] = current
    return found


def by_place(
    lines: Mapping[int, LineCounts], where: Mapping[int, Place]
) -> dict[Path, dict[int, LineCounts]]:
    """Counts of PTX lines as sums for the source lines that they come from, by file.

    `issued` and `lanes` are sums over all instructions of the line.
    """
    found: dict[Path, dict[int, LineCounts]] = {}
    for number, counts in lines.items():
        if number in where:
            path, line = where[number]
            total = found.setdefault(path, {}).setdefault(line, LineCounts())
            for name in _SUMS:
                setattr(total, name, getattr(total, name) + getattr(counts, name))
    return found
