"""Scheduler: control flow of a chunk, and the choice of the lanes that execute next.

All CTAs advance in lockstep. Diverged lanes become groups; the group with the lowest program
counter runs first, and groups that reach the same instruction merge, so that lanes reconverge soon.
A warp-wide instruction holds its lanes until their whole warp has arrived (as on sm_70 and later),
a barrier until the CTA has. When no group can run, the lanes that are held are at fault.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.counting.counts import Counts
from kgen.emulate.ptx.exec.faults import fault_of
from kgen.emulate.ptx.exec.groups import Groups
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import (
    Barrier,
    Branch,
    Collective,
    DecodedInstruction,
    Exit,
    Operation,
    Wait,
)
from kgen.emulate.ptx.exec.timers import DELAY, delays
from kgen.emulate.ptx.exec.waiting.barriers import Barriers
from kgen.emulate.ptx.exec.waiting.gathering import Gathering
from kgen.emulate.ptx.exec.waiting.parked import Parked
from kgen.emulate.ptx.frontend.syntax import PtxInstruction
from kgen.emulate.ptx.types import Array
from kgen.emulate.report import EmulationFault, Fault


def guarded(predicate: Array, mask: Mask) -> tuple[Mask] | None:
    """Return the lanes of the mask where the predicate holds; None if there are none.

    If it holds for all lanes of the mask, the mask itself is returned.
    """
    if predicate.size == 1:
        return (mask,) if predicate.item() else None
    chosen = predicate if mask is None else predicate & mask
    count = np.count_nonzero(chosen)
    if count == 0:
        return None
    if mask is None:
        return (None,) if count == chosen.size else (chosen,)
    same = count * mask.size == np.count_nonzero(mask) * chosen.size
    return (mask,) if same else (chosen,)


def remainder(mask: Mask, active: Mask) -> Mask | None:
    """Return the lanes of the group to which an operation does not apply; None if there are
    none."""
    if active is None or active is mask:
        return None
    rest = ~active if mask is None else mask & ~active
    return rest if np.count_nonzero(rest) else None


#: Instructions that exchange data between lanes of a warp without memory.
_EXCHANGES = frozenset(["elect", "match", "redux", "shfl", "vote"])
#: Faults of single lanes, which do not affect other lanes.
_SKIPPED = frozenset(["out-of-bounds", "misaligned"])
#: Loop iterations after the first fault, if the run continues to look for more.
_TURNS_AFTER_FAULT = 10_000
#: Rounds in which all loops poll in vain before they are taken to be endless.
_VAIN_ROUNDS = 1000


def is_exchange(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is a warp collective that does not order memory."""
    return instruction.words[0] in _EXCHANGES


class Scheduler:
    """Runs the CTAs of a machine from the first instruction to their last exit."""

    def __init__(
        self, machine: Machine, steps: Sequence[DecodedInstruction], max_turns: int
    ) -> None:
        self.machine, self.steps = machine, steps
        #: Limit on backward jumps of a chunk, above which it is taken to be endless.
        self.max_turns = max_turns
        #: Counts over all chunks.
        self.counts = Counts([step.instruction for step in steps])
        self.warnings: list[Fault] = []
        self._delays = delays(machine.kernel)

    def run(self) -> None:
        """Run the CTAs to which the machine was reset. Raises EmulationFault."""
        machine = self.machine
        #: Mask of all lanes that exist: None unless the last warp is padded.
        self.everyone: Mask = None if machine.exists.all() else machine.exists
        self.groups = Groups(machine, self.everyone)
        self.gathering = Gathering(machine)
        self.parked = Parked(machine, [step.operation for step in self.steps])
        self.signals = machine.signals
        self.turns = 0
        self._last_turn: int | None = None
        self.barriers = Barriers(machine)
        while self.groups or self._stuck():
            if self.groups:
                self._run_group(*self.groups.pop())
            if self.groups.vain_rounds > 1:
                self._look_around()
            if self.parked and machine.signals != self.signals:
                self._wake()
        self._end()
        self.warnings += [fault_of(machine, v, pc) for pc, v in machine.warnings]
        machine.warnings.clear()
        events = self.counts.events
        events.barriers = max(events.barriers, int(self.barriers.passed.max()))

    def _finish_something(self) -> bool:
        """Finish asynchronous work for which a thread may wait; return whether there was any."""
        try:
            return any(finish() for finish in self.machine.on_stall)
        except Violation as violation:
            raise self._fault(violation, self.machine.pc) from None

    def _end(self) -> None:
        """Check the state that the threads leave when all have exited."""
        try:
            for end in self.machine.on_end:
                end()
        except Violation as violation:
            raise self._fault(violation, self.machine.pc) from None

    def _run_group(self, pc: int, mask: Mask, limit: int) -> None:
        """Run a group until it ends, divides, or reaches the next group, at `limit`."""
        steps, counts, machine = self.steps, self.counts, self.machine
        warps, lanes = machine.active_warps(mask), machine.active_lanes(mask)
        while pc < limit:
            if pc == len(steps):
                self._exit(mask)
                return
            step = steps[pc]
            machine.pc = pc
            machine.time += 1
            counts.issued[pc] += warps
            counts.lanes[pc] += lanes
            active: Mask = mask
            if step.guard is not None:
                chosen = guarded(step.guard(), mask)
                if not isinstance(step.operation, Branch):
                    counts.lanes[pc] -= lanes - (machine.active_lanes(*chosen) if chosen else 0)
                if chosen is None:
                    pc += 1
                    continue
                active = chosen[0]
            operation = step.operation
            try:
                if callable(operation):
                    operation(active)
                    pc += 1
                    continue
                if isinstance(operation, Branch):
                    in_vain = self._turn(pc, operation.target, active)
                    if in_vain:
                        self._spin(pc, operation.target, active, mask)
                        return
                    if active is mask:
                        pc = operation.target
                        continue
                if self._control(pc, operation, active, mask):
                    return
                pc += 1
            except Violation as violation:
                if not self._skipped(violation, pc, operation, active):
                    raise self._fault(violation, pc) from None
                pc += 1
        self.groups.add(pc, mask)

    def _skipped(self, found: Violation, pc: int, operation: Operation, active: Mask) -> bool:
        """Return whether the run continues after a fault of some lanes, which skip the
        instruction."""
        machine = self.machine
        while found.kind in _SKIPPED and callable(operation):
            machine.refuse(found)
            left = machine.everywhere(machine.active(active)) & ~machine.everywhere(found.lanes)
            if not np.count_nonzero(left):
                return True
            try:
                operation(machine.compact(left))
                return True
            except Violation as another:
                found, active = another, left
        return False

    def _turn(self, pc: int, target: int, active: Mask) -> bool:
        """Count a backward branch to `target`; return whether its loop polled memory and saw
        nothing new."""
        if target > pc:
            return False
        machine = self.machine
        self.turns += 1
        if pc in self._delays:
            machine.time += DELAY
        if machine.faults.faults and self.turns > self._turns_after_fault():
            raise machine.faults.error()
        if self.turns > self.max_turns:
            message = f"the kernel has not ended after {self.max_turns} loop iterations"
            raise Violation("deadlock", message, machine.active(active))
        in_vain, machine.in_vain = machine.in_vain is True, None
        return in_vain

    def _turns_after_fault(self) -> int:
        """Return the limit on loop iterations after a fault, whose effects may make a loop
        endless."""
        if self._last_turn is None:
            self._last_turn = self.turns + _TURNS_AFTER_FAULT
        return self._last_turn

    def _spin(self, pc: int, target: int, active: Mask, mask: Mask) -> None:
        """Let other lanes run before the loop polls again."""
        self.groups.add(target, active, spins=True)
        rest = remainder(mask, active)
        if rest is not None:
            self.counts.events.divergent_branches += self.machine.parted_warps(active, rest)
            self.groups.add(pc + 1, rest)

    def _look_around(self) -> None:
        """Finish asynchronous work when all runnable lanes poll in vain, else report a deadlock."""
        if self._finish_something():
            self._wake()
            self.groups.vain_rounds = 0
        elif self.groups.vain_rounds > _VAIN_ROUNDS:
            pc, lanes = self.groups.first()
            message = "the loop never ends: no thread writes the value that it polls"
            raise self._fault(Violation("deadlock", message, self.machine.active(lanes)), pc)

    # ------------------------------------------------------------------ control operations

    def _control(self, pc: int, operation: Operation, active: Mask, mask: Mask) -> bool:
        """Execute a control operation; return whether the group has ended."""
        if isinstance(operation, Collective):
            return self._collective(pc, operation, active, mask)
        if isinstance(operation, Wait):
            return self._wait(pc, operation, active, mask)
        if isinstance(operation, Barrier) and self._whole_barrier(operation, active):
            return False
        rest = remainder(mask, active)
        if rest is not None:
            self.groups.add(pc + 1, rest)
        if isinstance(operation, Branch):
            if rest is not None:
                self.counts.events.divergent_branches += self.machine.parted_warps(active, rest)
            self.groups.add(operation.target, active)
        elif isinstance(operation, Exit):
            self._exit(active)
        elif isinstance(operation, Barrier):
            self._arrive(pc, operation, active)
        return True

    def _exit(self, mask: Mask) -> None:
        self.machine.exited = self.machine.exited | self.machine.active(mask)
        self.machine.signals += 1

    def _whole_barrier(self, barrier: Barrier, active: Mask) -> bool:
        """Handle the common case that every lane of every CTA is at the barrier: no lane waits."""
        if active is not self.everyone or not self.barriers.passed_by_all(barrier):
            return False
        if barrier.reduction is not None:
            barrier.reduction(active)
        return True

    def _arrive(self, pc: int, barrier: Barrier, active: Mask) -> None:
        lanes = self.machine.everywhere(self.machine.active(active))
        self.barriers.arrive(pc, barrier, lanes)
        if not barrier.waits:
            self.groups.add(pc + 1, lanes)
        self._release()

    def _release(self) -> bool:
        """Release the lanes of every complete barrier; return whether there were any."""
        released = self.barriers.complete(self.machine.exited)
        for pc, lanes in released:
            self.groups.add(pc + 1, lanes)
            operation = self.steps[pc].operation
            if isinstance(operation, Barrier) and operation.reduction is not None:
                operation.reduction(lanes)
        return bool(released)

    # ------------------------------------------------------------------ waiting

    def _wait(self, pc: int, wait: Wait, active: Mask, mask: Mask) -> bool:
        """Continue the lanes that are ready, and park the others; return whether the group has
        ended.

        The instruction counts as issued when its lanes continue, however often they are checked.
        """
        machine = self.machine
        here = machine.active(active)
        ready = here & wait.ready(active)
        late = here & ~ready
        if not np.count_nonzero(late):
            wait.action(active)
            return False
        self._count(pc, active, -1)
        rest = remainder(mask, active)
        if rest is not None:
            self.groups.add(pc + 1, rest)
        self.parked.add(pc, late)
        if np.count_nonzero(ready):
            self._count(pc, ready, 1)
            wait.action(ready)
            self.groups.add(pc + 1, ready)
        return True

    def _count(self, pc: int, lanes: Mask, times: int) -> None:
        self.counts.issued[pc] += times * self.machine.active_warps(lanes)
        self.counts.lanes[pc] += times * self.machine.active_lanes(lanes)

    def _wake(self) -> None:
        """Run parked lanes whose wait is over."""
        self.signals = self.machine.signals
        for pc, ready in self.parked.ready():
            self.groups.add(pc, ready)

    # ------------------------------------------------------------------ whole warps

    def _collective(self, pc: int, operation: Collective, active: Mask, mask: Mask) -> bool:
        """Execute it in complete warps and hold the other lanes; return whether the group has
        ended."""
        if active is self.everyone and operation.members is None:
            self._act_together(pc, operation, active)
            return False
        here = self.machine.active(active)
        ready, held = self.gathering.arrive(pc, operation, here)
        alone = ready is here or not (np.count_nonzero(held) or np.count_nonzero(ready != here))
        if np.count_nonzero(ready):
            self._act_together(pc, operation, active if alone else self.groups.simplest(ready))
        if alone and active is mask:
            return False
        if np.count_nonzero(ready):
            self.groups.add(pc + 1, ready)
        rest = remainder(mask, active)
        if rest is not None:
            self.groups.add(pc + 1, rest)
        return True

    def _act_together(self, pc: int, operation: Collective, lanes: Mask) -> None:
        operation.action(lanes)
        machine = self.machine
        if machine.launch.collectives_order and is_exchange(self.steps[pc].instruction):
            machine.clocks.warp_barrier(machine.active(lanes))

    # ------------------------------------------------------------------ end

    def _stuck(self) -> bool:
        """Handle the state in which no group can run. Return False if all lanes have exited, True
        if some may continue. Raises EmulationFault for lanes that wait for ever."""
        if self._release():
            return True
        if self._finish_something():
            self._wake()
            return True
        for found in (self.gathering.stuck(), self.barriers.stuck(), self.parked.stuck()):
            if found is not None:
                pc, violation = found
                raise self._fault(violation, pc)
        return False

    def _fault(self, violation: Violation, pc: int) -> EmulationFault:
        """Return the error that ends the run, with all recorded faults."""
        return self.machine.faults.last(fault_of(self.machine, violation, pc))
