"""Warp-wide instructions: lanes that arrived, lanes that are missing, lanes that wait."""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Collective
from kgen.emulate.ptx.exec.waiting.member_masks import named_by, not_yet_here
from kgen.emulate.ptx.types import Array, any_of
from kgen.emulate.wording import numbers


class Gathering:
    """Lanes held at an instruction, by its index, until their whole warp has arrived."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.held: dict[int, Array] = {}
        self._operations: dict[int, Collective] = {}

    def arrive(self, pc: int, operation: Collective, lanes: Array) -> tuple[Array, Array]:
        """Add lanes that arrive; return all lanes that may execute the instruction now, and the
        lanes that are held."""
        here = lanes | self.held.pop(pc) if pc in self.held else lanes
        missing = self._missing(operation, here)
        held = here & missing
        if not np.count_nonzero(held):
            return here, held
        self.held[pc], self._operations[pc] = held, operation
        return here & ~missing, held

    def _missing(self, operation: Collective, here: Array) -> Array:
        """Return whether a lane that has arrived waits for another one, [.., W, 1 or 32]."""
        machine = self._machine
        gone = machine.exited if operation.spares_exited else ~machine.exists
        if operation.members is not None:
            masks = operation.members()
            outside = here & ~named_by(masks)
            if np.count_nonzero(outside):
                message = "a lane that executes it is not in its member mask"
                raise Violation("divergent-warp-instruction", message, outside)
            return not_yet_here(masks, here, gone)
        return self._absent(~(gone | here), operation.warps)

    @staticmethod
    def _absent(absent: Array, warps: int) -> Array:
        """Return whether a lane is absent from the warps that execute together, [.., W, 1]."""
        some = any_of(absent, 2)
        if warps > 1:
            count = some.shape[1]
            whole = np.pad(some, ((0, 0), (0, -count % warps)))
            together = any_of(whole.reshape(len(some), -1, warps), 2)
            some = together.repeat(warps, axis=1)[:, :count]
        return some[..., None]

    def stuck(self) -> tuple[int, Violation] | None:
        """Return an instruction at which lanes are held for ever, with the violation; None if there
        is none."""
        if not self.held:
            return None
        pc, lanes = min(self.held.items())
        message = self._why(self._operations[pc], self._machine.everywhere(lanes))
        return pc, Violation("divergent-warp-instruction", message, lanes)

    def _why(self, operation: Collective, lanes: Array) -> str:
        """Describe the lanes for which the first held lane waits in vain."""
        machine = self._machine
        if operation.members is None:
            return "lanes wait for the rest of their warp, which has exited or waits elsewhere,"
        cta, warp, lane = np.unravel_index(int(lanes.argmax()), lanes.shape)
        masks = machine.everywhere(operation.members())[cta, warp]
        mask, there = int(masks[lane]), lanes[cta, warp]
        missing = ((mask >> np.arange(len(masks))) & 1 != 0) & machine.exists[0, warp]
        other = missing & there & (masks != mask)
        alive = missing & ~there & ~machine.exited[cta, warp]
        if np.count_nonzero(other):
            which = f"{numbers('lane', np.flatnonzero(other))}, which came with another mask"
        elif np.count_nonzero(alive):
            which = f"{numbers('lane', np.flatnonzero(alive))}, which never arrive"
        else:
            which = f"{numbers('lane', np.flatnonzero(missing & ~there))}, which exited instead"
        return f"the member mask {mask:#010x} of warp {warp} names {which},"
