"""Parser from PTX text to a :class:`PtxKernel` (PTX ISA 4, 5.4, 11)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from kgen.emulate.ptx.frontend.body import LINE_DIRECTIVE, EntryBody
from kgen.emulate.ptx.frontend.calls import functions
from kgen.emulate.ptx.frontend.lexer import spaced, without_comments
from kgen.emulate.ptx.frontend.syntax import PtxKernel, PtxParameter
from kgen.emulate.ptx.frontend.written import written
from kgen.emulate.ptx.types import TYPES
from kgen.emulate.wording import listed, shorten
from kgen.errors import EmulationError

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\((.*?)\))?([^{;]*)\{", re.S)
_MODULE_DIRECTIVE = re.compile(
    r"\.version\s+\d+\.\d+|\.target\s+\w+(?:\s*,\s*\w+)*|\.address_size\s+\d+"
    f"|{LINE_DIRECTIVE.pattern}"
)
_DIMENSIONS = re.compile(r"\.(reqntid|maxntid|reqnctapercluster)\s+(\d+(?:\s*,\s*\d+)*)")
_TARGET = re.compile(r"\.target\s+(sm_\w+)")
#: Tokens that end or interrupt a statement of a module.
_BREAK = re.compile(r'"[^"\n]*"|[{};]')
#: Most bytes of parameters since PTX ISA 8.1.
_MOST_PARAMETERS = 32764


@lru_cache(maxsize=8)
def parse(source: str, entry: str) -> PtxKernel:
    """Return an entry point of a module. Raises EmulationError if it is missing or malformed.

    Results are cached, because a kernel is run on several data sets and with several schedules.
    """
    text = without_comments(source)
    entries = {found[1]: found for found in _ENTRY.finditer(text)}
    if entry not in entries:
        known = listed(entries, entry)
        raise EmulationError(f"no entry point {shorten(entry)} in the PTX text; it has {known}")
    found = entries[entry]
    body = EntryBody(text=text, position=found.end(), entry=entry, functions=functions(text))
    for statement in _module_statements(text):
        body.declare_variable(statement)
    body.parse()
    layout = body.variables.lay_out(body.named())
    dimensions = dict(_DIMENSIONS.findall(found[3]))
    required, cluster = dimensions.get("reqntid"), dimensions.get("reqnctapercluster")
    most = dimensions.get("maxntid")
    target = _TARGET.search(text)
    kernel = PtxKernel(
        name=entry,
        target=target[1] if target else "",
        parameters=tuple(_parameters(found[2] or "")),
        registers=body.registers,
        variables=layout.variables,
        spaces=layout.spaces,
        dynamic_shared=layout.dynamic_shared,
        instructions=tuple(body.instructions),
        labels=body.labels,
        required_block=_extents(required) if required else None,
        max_threads=math.prod(_extents(most)) if most else None,
        required_cluster=_extents(cluster) if cluster else None,
    )
    return replace(kernel, written=written(kernel))


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _module_statements(text: str) -> Iterator[str]:
    """Yield the statements outside functions, including initialisers in braces."""
    text = _MODULE_DIRECTIVE.sub("", text)
    statement, start, depth, initialiser = "", 0, 0, False
    for found in _BREAK.finditer(text):
        if found[0] == "{":
            depth += 1
            if depth == 1:
                statement += text[start : found.start()]
                initialiser, start = statement.rstrip().endswith("="), found.start()
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                # Without an initialiser, the braces are a function's body, and the statement its
                # head.
                statement = statement + text[start : found.end()] if initialiser else ""
                start = found.end()
        elif found[0] == ";" and depth == 0:
            yield (statement + text[start : found.start()]).strip()
            statement, start = "", found.end()


def _parameters(text: str) -> Iterator[PtxParameter]:
    """Yield parameters with their offsets, aligned by their type or by .align."""
    end = 0
    for declaration in filter(None, (part.strip() for part in spaced(text).split(","))):
        found = re.search(r"([\w$%]+)\s*(?:\[\s*(\d+)\s*\])?$", declaration)
        words = declaration.split()
        kinds = [word[1:] for word in words if word[1:] in TYPES]
        if found is None or not kinds:
            raise EmulationError(f"cannot read the parameter `{declaration}`")
        name, size = found[1], TYPES[kinds[0]].size
        # In `.param .u64 .ptr .global .align 16` the alignment is that of the pointee.
        aligns = re.findall(r"\.align\s+(\d+)", declaration) if ".ptr" not in words else []
        align = _small(aligns[0]) if aligns else size
        offset = -(-end // align) * align
        end = offset + size * _small(found[2] or "1")
        if end > _MOST_PARAMETERS:
            raise EmulationError(
                f"the parameters up to {name} take more than {_MOST_PARAMETERS} bytes, the limit "
                "of PTX; pass a pointer to the data"
            )
        yield PtxParameter(name=name, offset=offset, size=end - offset)


def _small(digits: str) -> int:
    """Return a number of at least 1; 10**9 for one with more digits, which exceeds every limit."""
    return max(1, int(digits)) if len(digits) < 10 else 10**9
