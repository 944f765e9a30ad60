"""Fault reports for users, built from the violations that instructions raise."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from kgen.emulate.faults import fault_at
from kgen.emulate.ptx.chunk import PtxLaunch, Violation
from kgen.emulate.ptx.frontend.syntax import PtxKernel
from kgen.emulate.ptx.memory.spaces import GlobalMemory
from kgen.emulate.ptx.types import Array
from kgen.emulate.report import Fault, Index3
from kgen.emulate.windows import WINDOW_BITS


class Faulty(Protocol):
    """State of the machine that the report of a fault needs."""

    kernel: PtxKernel
    launch: PtxLaunch
    memory: GlobalMemory
    coordinates: list[Index3]

    def everywhere(self, value: Array) -> Array:
        """Return a view at the full shape [CTA, warp, lane]."""


def fault_of(machine: Faulty, violation: Violation, pc: int) -> Fault:
    """Return the fault at the instruction `pc`, for the first CTA with a faulty lane."""
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
        array=partial(_array_at, machine, violation.space),
    )


def _array_at(machine: Faulty, space: str, address: int) -> str:
    """Describe the array at an address of a state space, with the byte offset; "" if there is
    none."""
    if space == "shared":
        return _variable_at(machine, "shared", address) or (
            "dynamic shared memory" if address >= machine.kernel.dynamic_shared else ""
        )
    if space != "global":
        return ""
    number, offset = (address >> WINDOW_BITS) - 1, address & ((1 << WINDOW_BITS) - 1)
    if not 0 <= number < len(machine.memory.names):
        return ""
    name = machine.memory.names[number]
    for module_space in ("global", "const"):
        if name == f"the .{module_space} variables":
            return _variable_at(machine, module_space, offset)
    return f"byte {offset} of {name}"


def _variable_at(machine: Faulty, space: str, offset: int) -> str:
    for name, variable in machine.kernel.variables.items():
        inside = offset - variable.offset
        # Dynamic shared memory has no size of its own and extends to the end.
        if (
            variable.space == space
            and inside >= 0
            and (inside < variable.size or not variable.size)
        ):
            return f"byte {inside} of {name.partition('#')[0]}"
    return ""
