"""Timer registers: %clock, %clock64, %globaltimer and their halves (PTX ISA 10).

The emulator has no timing model. All timers return the number of instructions that the run has
executed: an instruction that many warps execute together counts once, and nanosleep counts its
nanoseconds. A later read therefore never returns less, in any thread, and a seed gives the same
values on every machine.

A loop that only waits for a timer would need as many iterations as it waits for cycles. Each
iteration of a loop that consists of arithmetic and a timer read therefore counts `DELAY` more.
"""

from __future__ import annotations

from kgen.emulate.ptx.frontend.syntax import PtxKernel, Register, names_in

#: Right shift of the count for each register. The type that is read truncates it.
TIMERS = {
    "%clock": 0,
    "%clock64": 0,
    "%clock_hi": 32,
    "%globaltimer": 0,
    "%globaltimer_lo": 0,
    "%globaltimer_hi": 32,
}
DELAY = 4096
#: Opcodes of a loop that only waits.
_ARITHMETIC = frozenset(
    [
        *("abs", "add", "and", "bra", "cvt", "mad", "max", "min", "mov", "mul", "nanosleep"),
        *("neg", "not", "or", "selp", "setp", "shl", "shr", "sub", "xor"),
    ]
)


def delays(kernel: PtxKernel) -> frozenset[int]:
    """Return the indices of branches that close a loop of arithmetic which reads a timer."""
    reads = [
        index
        for index, instruction in enumerate(kernel.instructions)
        if not TIMERS.keys().isdisjoint(names_in(instruction.operands))
    ]
    found = set()
    for end, instruction in enumerate(kernel.instructions):
        if not reads or instruction.words[0] != "bra":
            continue
        (label,) = instruction.operands
        start = kernel.labels.get(label.name, end) if isinstance(label, Register) else end
        body = kernel.instructions[start : end + 1]
        if any(start <= read < end for read in reads) and all(
            other.words[0] in _ARITHMETIC for other in body
        ):
            found.add(end)
    return frozenset(found)
