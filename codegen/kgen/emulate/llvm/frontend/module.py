"""Parsed LLVM IR module: plain records with resolved names and types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypedDict

from kgen.emulate.llvm.types import VOID, LlvmType
from kgen_runtime.values import frozen

_NODE = re.compile(r"(!\d+) = (?:distinct )?(!\{.*)")
_REFERENCE = re.compile(r"!\d+")
#: Depth to which nodes of annotations refer to other nodes.
_NESTED = 3


@dataclass(frozen=True)
class Constant:
    """Constant. Its ``value`` depends on ``kind``:

    - ``int``, and ``bits`` (the bits of a float): an int
    - ``zero`` (zeroinitializer, null, undef, poison and none): nothing
    - ``global``: the symbol's name
    - ``list``: the elements of a vector, array or struct
    - ``bytes``: the text of ``c"..."``
    - ``expression``: an LlvmInstruction whose operands are constants
    """

    type: LlvmType
    kind: str
    value: object = None


@dataclass(frozen=True)
class Local:
    """Use of an SSA name."""

    type: LlvmType
    name: str


Operand = Constant | Local


@frozen
class LlvmInstruction:
    """Instruction or constant expression of LLVM IR; the opcode decides which fields are in use."""

    opcode: str
    line: int
    type: LlvmType = VOID
    """Type of the result."""
    result: str = ""
    operands: tuple[Operand, ...] = ()
    labels: tuple[str, ...] = ()
    """Targets of br and switch (default first), predecessors of phi, in operand order."""
    predicate: str = ""
    """Predicate of icmp and fcmp; operation of atomicrmw."""
    scope: str = ""
    """Scope of a fence or an atomic; empty is the whole system."""
    ordering: str = ""
    """Ordering of a fence or an atomic, the stronger one of cmpxchg; empty for other accesses."""
    mmra: str = ""
    """Memory model relaxation annotations: a metadata node, or the number of one."""
    source_type: LlvmType = VOID
    """Type that getelementptr steps over, or alloca allocates."""
    indices: tuple[int, ...] = ()
    """Indices of extractvalue and insertvalue; mask of shufflevector (-1 is poison)."""
    align: int = 0
    callee: str = ""
    flags: frozenset[str] = frozenset()
    """Flags of an operation on integers: nuw and nsw. Others have no effect here."""

    @property
    def is_atomic(self) -> bool:
        return bool(self.ordering)


class Fields(TypedDict, total=False):
    """Fields of an :class:`LlvmInstruction` that are parsed after its opcode."""

    type: LlvmType
    operands: tuple[Operand, ...]
    labels: tuple[str, ...]
    predicate: str
    scope: str
    ordering: str
    source_type: LlvmType
    indices: tuple[int, ...]
    align: int
    callee: str


@frozen
class BasicBlock:
    name: str
    instructions: tuple[LlvmInstruction, ...]


@frozen
class LlvmParameter:
    name: str
    type: LlvmType


@frozen
class LlvmFunction:
    name: str
    line: int
    result: LlvmType
    parameters: tuple[LlvmParameter, ...]
    blocks: tuple[BasicBlock, ...]
    kernel: bool
    """Declared ``amdgpu_kernel``."""
    attributes: dict[str, str] = field(default_factory=dict)


@frozen
class Global:
    name: str
    type: LlvmType
    space: int
    align: int
    initializer: Constant | None


@dataclass(kw_only=True, frozen=True, eq=False)
class Module:
    """Parsed text. The parser caches the last few modules, which are compared by identity."""

    triple: str
    globals: dict[str, Global]
    functions: dict[str, LlvmFunction]
    lines: tuple[str, ...]

    @cached_property
    def _metadata(self) -> dict[str, str]:
        """Text of every numbered node."""
        found = (_NODE.match(line) for line in self.lines if line.startswith("!"))
        return {match[1]: match[2] for match in found if match is not None}

    def synchronizes(self, ins: LlvmInstruction, memory: str) -> bool:
        """Return whether a fence applies to ``memory``: global, or local (LDS). A fence without an
        annotation applies to all (LLVM "User Guide for AMDGPU Backend", memory model relaxation
        annotations)."""
        node = ins.mmra
        for _ in range(_NESTED):
            node = _REFERENCE.sub(lambda match: self._metadata.get(match[0], ""), node)
        return "amdgpu-synchronize-as" not in node or f'"{memory}"' in node

    def text(self, line: int) -> str:
        """Return a source line, from 1, without its indentation."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""


def immediate(operand: Operand) -> int:
    """Return the value of an operand that the LangRef requires to be a constant integer."""
    if isinstance(operand, Constant):
        if operand.kind == "zero":
            return 0
        if isinstance(operand.value, int):
            return operand.value
    raise TypeError("an operand that must be a constant integer")
