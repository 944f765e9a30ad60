"""Decoder of AMDGPU instructions in text form, with the registers that they read and write.

Sources: LLVM "User Guide for AMDGPU Backend", "AMDGPU Instruction Syntax"; the ISA manuals for the
results of an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgen.check.static.machine_code import MachineInstruction
from kgen_runtime.values import frozen

#: Registers: `v7`, `s3`, `a0`, or a name: vcc, exec, m0, scc.
Registers = frozenset[str]

_RANGE = re.compile(r"\b([vsa])\[(\d+):(\d+)\]")
_ONE = re.compile(r"\b([vsa])(\d+)\b")
_NAMED = re.compile(r"\b(vcc|exec|m0|scc)(?:_lo|_hi)?\b")
#: Instructions without results.
_WRITES_NOTHING = re.compile(
    r"(global|buffer|flat|scratch)_(store|inv|wb)|ds_(write|store|nop)|v_nop|v_cmpx"
    r"|s_(cmp|bitcmp|waitcnt|wait|barrier|branch|cbranch|endpgm|nop|sleep|setprio|sethalt|sendmsg"
    r"|delay_alu|clause|code_end|dcache|icache|inst_prefetch|set_inst|prefetch|version|ttrace)"
)
#: Atomics, which return the old value only if their modifiers say so.
_ATOMIC = re.compile(r"(global|buffer|flat)_atomic")
_RETURNS = re.compile(r"\b(glc|sc0|th:TH_ATOMIC_RETURN)\b")
#: Instructions with two results: sum and carry, the scaled number and its flag, or swapped
#: registers.
_TWO_RESULTS = re.compile(
    r"v_(add|sub|subrev)c?_co|v_(add|sub)_co_ci|v_div_scale|v_mad_[ui]64_[ui]32|v_swap"
    r"|v_permlane(16|32)_swap"
)
#: Instructions that add to their result register.
_ACCUMULATES = re.compile(
    r"v_(fmac|pk_fmac|mac|dot\dc|dot\dacc|writelane|smfmac|swmmac|swap)|v_permlane(16|32)_swap"
)
MATRIX = re.compile(r"v_(s?mfma|wmma|smfmac|swmmac)")


@frozen
class Decoded:
    """Decoded instruction; a dual-issued pair (v_dual) counts as one that does both."""

    at: int
    """Index of the instruction in the code."""
    opcode: str
    operands: tuple[str, ...]
    modifiers: str
    reads: Registers
    writes: Registers
    goes_on: bool
    """Whether the next instruction may follow."""
    goes_to: int | None

    @property
    def touches(self) -> Registers:
        return self.reads | self.writes

    @property
    def is_matrix(self) -> bool:
        return MATRIX.match(self.opcode) is not None

    def __str__(self) -> str:
        return f"{self.opcode} {', '.join(self.operands)} {self.modifiers}".strip()


def decoded(code: Sequence[MachineInstruction]) -> list[Decoded]:
    return [_decoded(at, ins) for at, ins in enumerate(code)]


def registers(text: str) -> Registers:
    """Return the registers that operands name."""
    return frozenset(_named(text))


def _named(text: str) -> Iterator[str]:
    for kind, first, last in _RANGE.findall(text):
        yield from (f"{kind}{n}" for n in range(int(first), int(last) + 1))
    yield from (kind + number for kind, number in _ONE.findall(text))
    yield from _NAMED.findall(text)


def _decoded(at: int, ins: MachineInstruction) -> Decoded:
    reads: set[str] = set()
    writes: set[str] = set()
    halves = f"{ins.opcode} {ins.operands}".split(" :: ")
    for half in halves:
        opcode, _, rest = half.partition(" ")
        operands, modifiers = _split(rest)
        results = _results(opcode, modifiers)
        writes |= registers(" ".join(operands[:results]))
        reads |= registers(" ".join(operands[results:]))
        if _ACCUMULATES.match(opcode):
            reads |= registers(operands[0])
        if opcode.startswith("v_cmpx") or "saveexec" in opcode:
            writes.add("exec")
        if opcode.startswith("v_div_fmas"):
            reads.add("vcc")
    operands, modifiers = _split(ins.operands)
    return Decoded(
        at=at,
        opcode=ins.opcode,
        operands=operands,
        modifiers=modifiers,
        reads=frozenset(reads),
        writes=frozenset(writes),
        goes_on=not re.match(r"s_(endpgm|branch|setpc)", ins.opcode),
        goes_to=ins.goes_to,
    )


def _split(text: str) -> tuple[tuple[str, ...], str]:
    """Return the operands, and the modifiers after the last of them."""
    parts = [part.strip() for part in re.split(r",(?![^\[]*\])", text)] if text else []
    modifiers = ""
    if parts:
        last, _, modifiers = parts[-1].partition(" ")
        parts[-1] = last
    return tuple(parts), modifiers


def _results(opcode: str, modifiers: str) -> int:
    """Return how many of the first operands are results."""
    if _WRITES_NOTHING.match(opcode) or re.search(r"\blds\b", modifiers) or "_lds_" in opcode:
        return 0
    if _ATOMIC.match(opcode):
        return int(_RETURNS.search(modifiers) is not None)
    if opcode.startswith("ds_") and re.match(r"ds_(add|sub|min|max|and|or|xor|inc|dec)_", opcode):
        return int("rtn" in opcode)
    return 2 if _TWO_RESULTS.match(opcode) else 1
