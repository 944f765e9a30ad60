"""Instructions that whole warps execute together: who is there, who is missing, who waits."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Collective
from kgen.emulate.ptx.types import Array, any_of


class Gathering:
    """Lanes that are held at an instruction, by its index, until all of their warp are there."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.held: dict[int, Array] = {}

    def arrive(self, pc: int, operation: Collective, lanes: Array) -> tuple[Array, Array]:
        """Lanes come to the instruction: (all that may execute it now, those that are held)."""
        machine = self._machine
        here = lanes | self.held.pop(pc) if pc in self.held else lanes
        needed = machine.exists
        if operation.members is not None:
            named = (operation.members() >> machine.special["%laneid"]) & np.uint32(1) != 0
            if (here & ~named).any():
                message = "a lane that executes it is not in its member mask"
                raise Violation("divergent-warp-instruction", message, here & ~named)
            needed = named & machine.exists
        if operation.spares_exited:
            needed = needed & ~machine.exited
        missing = self._missing(needed & ~here, operation.warps)
        held = here & missing
        if held.any():
            self.held[pc] = held
        return here & ~missing, held

    @staticmethod
    def _missing(absent: Array, warps: int) -> Array:
        """[.., W, 1]: whether a lane is absent of the warps that execute together."""
        some = any_of(absent, 2)
        if warps > 1:
            count = some.shape[1]
            whole = np.pad(some, ((0, 0), (0, -count % warps)))
            together = any_of(whole.reshape(len(some), -1, warps), 2)
            some = together.repeat(warps, axis=1)[:, :count]
        return some[..., None]

    def stuck(self) -> tuple[int, Violation] | None:
        """The instruction at which somebody is held for ever."""
        if not self.held:
            return None
        pc, lanes = min(self.held.items())
        message = "lanes wait for the rest of their warp, which has exited or waits elsewhere,"
        return pc, Violation("divergent-warp-instruction", message, lanes)
