"""Static analysis of the buffers that a kernel may write: only those need race-detection tables.

A register is assumed to hold an address into every buffer that one of its sources may point into,
in any order of the instructions. A pointer that is loaded from memory may point anywhere.
"""

from __future__ import annotations

from dataclasses import replace

from kgen.emulate.ptx.frontend.implicit import REGISTERS
from kgen.emulate.ptx.frontend.syntax import Address, PtxInstruction, PtxKernel, names_in

#: Name that stands for any buffer.
ANYWHERE = "*"
_POINTER_BYTES = 8
_NOTHING: frozenset[str] = frozenset()
#: Instructions that write, with the index of their address operand.
_WRITERS = {"st": 0, "red": 0, "atom": 1}


def written(kernel: PtxKernel) -> frozenset[str]:
    """Return the parameters and variables that may be written; `ANYWHERE` for all."""
    origins: dict[str, frozenset[str]] = {p.name: frozenset([p.name]) for p in kernel.parameters}
    origins.update({name: frozenset([name]) for name in (*kernel.variables, ANYWHERE)})
    for register, derived in REGISTERS.items():
        if derived.of is not None and derived.of.name in kernel.variables:
            origins[register] = frozenset([derived.of.name])
    named = [
        (names_in(instruction.operands[:1]), _sources(kernel, instruction))
        for instruction in kernel.instructions
    ]
    changed = True
    while changed:
        changed = False
        for targets, sources in named:
            found = frozenset().union(*(origins.get(name, _NOTHING) for name in sources))
            for name in targets:
                known = origins.get(name, _NOTHING)
                if not found <= known:
                    origins[name] = known | found
                    changed = True
    stored = [_stored(instruction, origins) for instruction in kernel.instructions]
    return frozenset().union(*stored)


def _sources(kernel: PtxKernel, instruction: PtxInstruction) -> list[str]:
    """Return the names, or registers, whose buffers the first operand may point into after the
    instruction."""
    if instruction.words[0] in ("ld", "ldu") and "param" not in instruction.words:
        targets = [kernel.registers.get(name) for name in names_in(instruction.operands[:1])]
        pointer = any(t is not None and t.size == _POINTER_BYTES for t in targets)
        return [ANYWHERE] if pointer else []
    return names_in(instruction.operands[1:])


def _stored(instruction: PtxInstruction, origins: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the origins that an instruction may write to."""
    words = instruction.words
    if words[0] == "tensormap" or "tensormap::generic" in words:
        # A copy that stores through a map built by the program may write anywhere.
        return frozenset([ANYWHERE])
    if words[0] == "cp" and "bulk" in words:
        return _copied_to(instruction, origins)
    place = _WRITERS.get(words[0])
    local = any(word.startswith(("shared", "local")) for word in words)
    if place is None or local or len(instruction.operands) <= place:
        return frozenset()
    found = [origins.get(name, frozenset()) for name in names_in([instruction.operands[place]])]
    return frozenset().union(*found)


def _copied_to(instruction: PtxInstruction, origins: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the origins that a bulk copy may write to; its first state space is the
    destination."""
    spaces = [word for word in instruction.words if word == "global" or word.startswith("shared")]
    if spaces[:1] != ["global"] or "prefetch" in instruction.words:
        return frozenset()
    to = instruction.operands[0]
    if isinstance(to, Address):
        to = replace(to, coordinates=())
    found = [origins.get(name, frozenset()) for name in names_in([to])]
    return frozenset().union(*found) or frozenset([ANYWHERE])
