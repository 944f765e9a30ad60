"""PTX text to a :class:`Kernel` (PTX ISA 4, 5.4, 11)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from kgen.emulate.ptx.frontend.body import LINE_DIRECTIVE, Body, product
from kgen.emulate.ptx.frontend.calls import functions
from kgen.emulate.ptx.frontend.lexer import spaced, without_comments
from kgen.emulate.ptx.frontend.syntax import Kernel, Parameter
from kgen.emulate.ptx.frontend.written import written
from kgen.emulate.ptx.types import TYPES
from kgen.errors import EmulationError

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\((.*?)\))?([^{;]*)\{", re.S)
_MODULE_DIRECTIVE = re.compile(
    r"\.version\s+\d+\.\d+|\.target\s+\w+(?:\s*,\s*\w+)*|\.address_size\s+\d+"
    f"|{LINE_DIRECTIVE.pattern}"
)
_DIMENSIONS = re.compile(r"\.(reqntid|maxntid|reqnctapercluster)\s+(\d+(?:\s*,\s*\d+)*)")
_TARGET = re.compile(r"\.target\s+(sm_\w+)")
#: Module text that holds no variables: function bodies, which have inner braces at most two deep.
_BODY = re.compile(r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")


@lru_cache(maxsize=8)
def parse(source: str, entry: str) -> Kernel:
    """The entry point of a module. Raises EmulationError if there is none or it is malformed.

    The last few are kept: a kernel is run on several data sets, under several schedules.
    """
    text = without_comments(source)
    entries = {found[1]: found for found in _ENTRY.finditer(text)}
    if entry not in entries:
        names = ", ".join(entries) or "none"
        raise EmulationError(f"no entry point {entry} in the PTX text; it has {names}")
    found = entries[entry]
    body = Body(text=text, position=found.end(), entry=entry, functions=functions(text))
    for statement in _module_statements(text):
        body.declare_variable(statement)
    body.parse()
    dimensions = dict(_DIMENSIONS.findall(found[3]))
    required, cluster = dimensions.get("reqntid"), dimensions.get("reqnctapercluster")
    most = dimensions.get("maxntid")
    target = _TARGET.search(text)
    kernel = Kernel(
        name=entry,
        target=target[1] if target else "",
        parameters=tuple(_parameters(found[2] or "")),
        registers=body.registers,
        variables=body.variables,
        spaces=body.spaces,
        dynamic_shared=body.place_dynamic(),
        instructions=tuple(body.instructions),
        labels=body.labels,
        required_block=_extents(required) if required else None,
        max_threads=product(_extents(most)) if most else None,
        required_cluster=_extents(cluster) if cluster else None,
    )
    return replace(kernel, written=written(kernel))


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _module_statements(text: str) -> Iterator[str]:
    """Statements outside functions, without initialisers' braces being taken for bodies."""
    outside = _MODULE_DIRECTIVE.sub("", _ENTRY.sub("{", text))
    outside = re.sub(r"\.func\b[^{;]*\{", "{", outside)
    outside = re.sub(r"=\s*\{([^{}]*)\}", r"= <\1>", outside)
    for statement in _BODY.sub(";", outside).split(";"):
        yield statement.strip()


def _parameters(text: str) -> Iterator[Parameter]:
    """Parameters at their offsets; each is aligned as its type or its .align says."""
    end = 0
    for declaration in filter(None, (part.strip() for part in spaced(text).split(","))):
        found = re.search(r"([\w$%]+)\s*(?:\[\s*(\d+)\s*\])?$", declaration)
        words = declaration.split()
        kinds = [word[1:] for word in words if word[1:] in TYPES]
        if found is None or not kinds:
            raise EmulationError(f"cannot read the parameter `{declaration}`")
        size = TYPES[kinds[0]].size
        # In `.param .u64 .ptr .global .align 16` the alignment is the pointee's.
        aligns = re.findall(r"\.align\s+(\d+)", declaration) if ".ptr" not in words else []
        align = int(aligns[0]) if aligns else size
        offset = -(-end // align) * align
        end = offset + size * int(found[2] or 1)
        yield Parameter(name=found[1], offset=offset, size=end - offset)
