"""The registers that count time: %clock, %clock64, %globaltimer and their halves (PTX ISA 10).

There is no time here. All of them give one count, that of the instructions which the run has
executed until now: one that many warps execute together counts once, and nanosleep counts its
nanoseconds. So a later read never gives less, whichever thread does it, what a read follows is
counted, and the same seed gives the same numbers on every machine.

A loop that only waits for the count to rise would take as many turns as it waits for cycles. Each
turn of one that does nothing but arithmetic counts `DELAY` more.
"""

from __future__ import annotations

from kgen.emulate.ptx.frontend.syntax import PtxKernel, Register, names_in

#: Registers, by how far the count is shifted to the right. The type that is read cuts it off.
TIMERS = {
    "%clock": 0,
    "%clock64": 0,
    "%clock_hi": 32,
    "%globaltimer": 0,
    "%globaltimer_lo": 0,
    "%globaltimer_hi": 32,
}
DELAY = 4096
#: Opcodes that a loop which only waits is made of.
_ARITHMETIC = frozenset(
    [
        *("abs", "add", "and", "bra", "cvt", "mad", "max", "min", "mov", "mul", "nanosleep"),
        *("neg", "not", "or", "selp", "setp", "shl", "shr", "sub", "xor"),
    ]
)


def delays(kernel: PtxKernel) -> frozenset[int]:
    """The branches that close a loop of arithmetic which reads a timer, by their index."""
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
