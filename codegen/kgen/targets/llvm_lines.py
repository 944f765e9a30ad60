"""LLVM IR with a debug location on every instruction: the line that it stands on.

LLVM then prints beside its machine instructions which lines of the IR they are from (`.loc`). Debug
information does not change the code (LLVM's "Source Level Debugging", and a test here).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A number above those of a kernel's own metadata.
_FIRST = 100000
_HEAD = f"""
!llvm.module.flags = !{{!{_FIRST}}}
!llvm.dbg.cu = !{{!{_FIRST + 2}}}
!{_FIRST} = !{{i32 2, !"Debug Info Version", i32 3}}
!{_FIRST + 1} = !DIFile(filename: "kernel.ll", directory: ".")
!{_FIRST + 2} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{_FIRST + 1}, \
isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!{_FIRST + 3} = !DISubroutineType(types: !{{}})
"""
_LABEL = re.compile(r"[\w.$-]+:")
#: A comment after an instruction; no string of a kernel's instructions holds a semicolon.
_COMMENT = re.compile(r"\s*;.*$")


def with_lines(ir: str) -> str:
    """Return the IR with metadata that gives each instruction its line."""
    metadata: list[str] = []
    return "\n".join(_marked(ir, metadata)) + _HEAD + "\n".join(metadata) + "\n"


def _marked(ir: str, metadata: list[str]) -> Iterator[str]:
    function: int | None = None
    in_header = in_table = False
    for number, line in enumerate(ir.splitlines(), 1):
        code = _COMMENT.sub("", line).rstrip()
        in_header |= code.startswith("define ")
        if in_header and code.endswith("{"):
            in_header, function = False, _add(metadata, _subprogram(number))
            yield f"{code[:-1]}!dbg !{function} {{"
        elif function is None or not code or _LABEL.fullmatch(code.strip()):
            yield line
        elif code == "}":
            function = None
            yield line
        elif code.endswith("[") or (in_table and not code.strip().startswith("]")):
            in_table = True  # The cases of a switch, one a line.
            yield code
        else:
            in_table = False
            at = _add(metadata, f"!DILocation(line: {number}, scope: !{function})")
            yield f"{code}, !dbg !{at}"


def _subprogram(line: int) -> str:
    return (
        f'distinct !DISubprogram(name: "kernel{line}", file: !{_FIRST + 1}, line: {line}, '
        f"type: !{_FIRST + 3}, spFlags: DISPFlagDefinition | DISPFlagOptimized, "
        f"unit: !{_FIRST + 2})"
    )


def _add(metadata: list[str], node: str) -> int:
    number = _FIRST + 4 + len(metadata)
    metadata.append(f"!{number} = {node}")
    return number
