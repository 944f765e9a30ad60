"""Source locations: the line of the programmer's source from which a line of a kernel was compiled.

In PTX, compilers write `.file` and `.loc`; a `.loc` applies to the instructions up to the next one
(PTX ISA 11.5, debugging directives). `nvcc -lineinfo`, clang and Triton with debug information do
so. In LLVM IR, an instruction's `!dbg` is a DILocation, whose scope has the file (LLVM Language
Reference, Specialized Metadata Nodes).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from kgen.emulate.report import LineCounts

#: File and line, counted from 1.
Place = tuple[Path, int]

_SUMS = tuple(field.name for field in fields(LineCounts) if field.name != "kind")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', re.M)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\b")
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)", re.M)
_ATTACHED = re.compile(r"!dbg !(\d+)")
_FIELD = re.compile(r"""(line|scope|file|filename|directory): !?(\d+|"[^"]*")""")


def places(source: str) -> dict[int, Place]:
    """Return the source location of every line of a kernel's text that has one. Files have the
    names in the text."""
    return _places_in_llvm(source) if "!DILocation(" in source else _places_in_ptx(source)


def _places_in_ptx(source: str) -> dict[int, Place]:
    files = {number: Path(name) for number, name in _FILE.findall(source)}
    found: dict[int, Place] = {}
    current: Place | None = None
    for number, line in enumerate(source.splitlines(), 1):
        if (loc := _LOC.match(line)) is not None and loc[1] in files:
            # Line 0 marks instructions without a source line.
            current = (files[loc[1]], int(loc[2])) if int(loc[2]) else None
        elif line.startswith("}"):
            current = None
        elif current is not None:
            found[number] = current
    return found


def _places_in_llvm(source: str) -> dict[int, Place]:
    nodes = {n: (kind, dict(_FIELD.findall(body))) for n, kind, body in _NODE.findall(source)}
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        if (attached := _ATTACHED.search(line)) is None or line.startswith("define"):
            continue
        kind, fields_ = nodes.get(attached[1], ("", {}))
        path = _file_of(nodes, fields_)
        if kind == "DILocation" and path is not None and fields_.get("line", "0") != "0":
            found[number] = (path, int(fields_["line"]))
    return found


def _file_of(nodes: Mapping[str, tuple[str, dict[str, str]]], node: dict[str, str]) -> Path | None:
    """Return the file of the innermost scope that names one."""
    while "file" not in node:
        if node.get("scope") not in nodes:
            return None
        node = nodes[node["scope"]][1]
    _, file = nodes.get(node["file"], ("", {}))
    if "filename" not in file:
        return None
    return Path(file.get("directory", "").strip('"'), file["filename"].strip('"'))


def by_place(
    lines: Mapping[int, LineCounts], where: Mapping[int, Place]
) -> dict[Path, dict[int, LineCounts]]:
    """Return the counts of source lines, by file, as sums over the lines of the kernel's text.

    `issued` and `lanes` are sums over all instructions of a source line.
    """
    found: dict[Path, dict[int, LineCounts]] = {}
    for number, counts in lines.items():
        if number in where:
            path, line = where[number]
            total = found.setdefault(path, {}).setdefault(line, LineCounts())
            for name in _SUMS:
                setattr(total, name, getattr(total, name) + getattr(counts, name))
    return found
