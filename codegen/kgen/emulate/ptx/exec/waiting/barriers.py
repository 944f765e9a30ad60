"""Named barriers of each CTA: bar and barrier (PTX ISA 9.7.13.1).

A barrier counts warps: a warp has arrived when all its lanes that have not exited have. Waiting
lanes are stored by instruction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Barrier
from kgen.emulate.ptx.order.released_knowledge import Known
from kgen.emulate.ptx.types import Array, any_of

_NUMBER_OF_BARRIERS = 16


@dataclass(kw_only=True)
class _BarrierState:
    """State of a barrier: lanes [C, W, 32] that arrived, and waiting lanes by instruction.

    `released` is the knowledge of the arrived lanes at the time of their arrival.
    """

    arrived: Array
    expected: Array
    released: Known
    waiting: dict[int, Array] = field(default_factory=dict)


class Barriers:
    """Barriers of the CTAs of a chunk."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.states: dict[int, _BarrierState] = {}
        #: Number of barriers of all threads that each CTA has passed.
        self.passed: Array = np.zeros(machine.ctas, np.int64)

    def passed_by_all(self, barrier: Barrier) -> bool:
        """Handle the arrival of every lane of every CTA at once; return whether all lanes pass
        without waiting."""
        machine, numbers = self.machine, barrier.number()
        if not barrier.waits or numbers.size > 1 or numbers.item() in self.states:
            return False
        if barrier.threads is not None:
            threads = barrier.threads()
            if threads.size > 1 or threads.item() != machine.warps * WARP:
                return False
        self.passed += 1
        if machine.shared.shadow is not None:
            machine.clocks.join_all()
            machine.shared.shadow.collapse()
        return True

    def arrive(self, pc: int, barrier: Barrier, lanes: Array) -> None:
        """Let lanes arrive; they wait if the instruction at `pc` waits."""
        numbers = self.machine.everywhere(barrier.number())
        for number in np.unique(numbers[lanes]):
            if number >= _NUMBER_OF_BARRIERS:
                message = f"barrier {number} does not exist; barriers are numbered 0 to 15"
                raise Violation("deadlock", message, lanes & (numbers == number))
            self._arrive(int(number), pc, barrier, lanes & (numbers == number))

    def _arrive(self, number: int, pc: int, barrier: Barrier, lanes: Array) -> None:
        machine = self.machine
        state = self.states.get(number)
        if state is None:
            state = _BarrierState(
                arrived=np.zeros(machine.shape, bool),
                expected=np.zeros(machine.ctas, np.int64),
                released=Known(seen=np.zeros((1, 1), np.int64)),
            )
            self.states[number] = state
        if np.count_nonzero(state.arrived & lanes):
            message = f"barrier {number} is reached a second time before it is complete"
            raise Violation("deadlock", message, state.arrived & lanes)
        if barrier.aligned:
            self._check_aligned(state, pc, lanes)
        here = lanes.any(axis=(1, 2))
        state.expected = np.where(here, self._expected(barrier, lanes), state.expected)
        state.arrived = state.arrived | lanes
        if machine.checks:
            gone = machine.exited & any_of(lanes, 2, keepdims=True)
            known = machine.clocks.release(machine.compact(lanes | gone))
            state.released = state.released.merge(known)
        if barrier.waits:
            state.waiting[pc] = state.waiting.get(pc, False) | lanes

    @staticmethod
    def _check_aligned(state: _BarrierState, pc: int, lanes: Array) -> None:
        """Raise Violation if lanes of one warp wait at different instructions (.aligned)."""
        for other, waiting in state.waiting.items():
            warps = any_of(waiting, 2, keepdims=True) & any_of(lanes, 2, keepdims=True)
            if other != pc and np.count_nonzero(warps):
                message = "the lanes of a warp wait at different barrier instructions"
                raise Violation("divergent-warp-instruction", message, lanes & warps)

    def _expected(self, barrier: Barrier, lanes: Array) -> Array:
        """Return the warps that each CTA's barrier waits for; 0 for all that have not exited."""
        if barrier.threads is None:
            return np.zeros(self.machine.ctas, np.int64)
        threads = self.machine.everywhere(barrier.threads()).astype(np.int64)
        if np.count_nonzero(threads[lanes] % WARP):
            message = "the thread count of a barrier is not a multiple of the warp size"
            raise Violation("deadlock", message, lanes)
        most: Array = np.where(lanes, threads, 0).max(axis=(1, 2))
        return most // WARP

    def complete(self, exited: Array) -> list[tuple[int, Array]]:
        """Open every complete barrier; return (pc, lanes) of the lanes that may continue."""
        released: list[tuple[int, Array]] = []
        for number, state in list(self.states.items()):
            arrived, wanted = self._progress(state, exited)
            done = (arrived >= wanted) & state.arrived.any(axis=(1, 2))
            if not np.count_nonzero(done):
                continue
            whole = (state.expected == 0) | (state.expected == self.machine.warps)
            self.passed += done & whole
            where = done[:, None, None]
            self._acquire(state, where)
            for pc, lanes in list(state.waiting.items()):
                if np.count_nonzero(lanes & where):
                    released.append((pc, lanes & where))
                state.waiting[pc] = lanes & ~where
                if not np.count_nonzero(state.waiting[pc]):
                    del state.waiting[pc]
            state.arrived = state.arrived & ~where
            state.released = state.released.forget(self.machine.compact(done))
            if not np.count_nonzero(state.arrived):
                del self.states[number]
        return released

    @staticmethod
    def _progress(state: _BarrierState, exited: Array) -> tuple[Array, Array]:
        """Return for each CTA the warps that arrived and the warps that must arrive."""
        whole = state.arrived.any(axis=2) & (state.arrived | exited).all(axis=2)
        alive = (~exited).any(axis=2).sum(axis=1)
        return whole.sum(axis=1), np.where(state.expected > 0, state.expected, alive)

    def _acquire(self, state: _BarrierState, where: Array) -> None:
        """Let the released lanes acquire what all lanes knew when they arrived."""
        if not self.machine.checks:
            return
        waiting = np.zeros(self.machine.shape, bool)
        for lanes in state.waiting.values():
            waiting |= lanes & where
        gone = self.machine.exited & any_of(waiting, 2, keepdims=True)
        self.machine.clocks.acquire(self.machine.compact(waiting | gone), state.released)

    def stuck(self) -> tuple[int, Violation] | None:
        """Return an instruction at which lanes wait for ever, with the violation; None if there is
        none."""
        for number, state in self.states.items():
            if not state.waiting:
                continue
            pc, lanes = min(state.waiting.items())
            cta = int(lanes.any(axis=(1, 2)).argmax())
            warps = int(state.arrived[cta].any(axis=1).sum())
            wanted = int(state.expected[cta])
            goal = f"{wanted}" if wanted else "all"
            message = f"barrier {number} never completes: {warps} of {goal} warps arrive"
            return pc, Violation("deadlock", message, lanes)
        return None
