"""From what an instruction sees to the fault that a user is told."""

from __future__ import annotations

from kgen.emulate.faults import fault_at
from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.report import Fault


def fault_of(machine: Machine, violation: Violation, pc: int) -> Fault:
    """The fault at the instruction `pc`, in the first CTA that is concerned."""
    instruction, address = machine.kernel.instructions[pc], violation.address
    return fault_at(
        violation.kind,
        violation.message,
        machine.everywhere(violation.lanes),
        entry=machine.kernel.name,
        instruction=instruction.text,
        line=instruction.line,
        coordinates=machine.coordinates,
        seed=machine.launch.seed,
        address=None if address is None else machine.everywhere(address),
    )
