"""From what an instruction sees to the fault that a user is told."""

from __future__ import annotations

from kgen.emulate.offenders import offenders
from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.report import Fault


def fault_of(machine: Machine, violation: Violation, pc: int) -> Fault:
    """The fault at the instruction `pc`, in the first CTA that is concerned."""
    instruction = machine.kernel.instructions[pc]
    lanes = machine.everywhere(violation.lanes)
    cta, threads = offenders(lanes)
    address = None
    if violation.address is not None and threads:
        address = int(machine.everywhere(violation.address)[cta].reshape(-1)[threads[0]])
    return Fault(
        kind=violation.kind,
        message=violation.message,
        entry=machine.kernel.name,
        instruction=instruction.text,
        line=instruction.line,
        workgroup=machine.coordinates[cta],
        lanes=tuple(threads),
        address=address,
        seed=machine.launch.seed,
    )
