"""mbarrier.try_wait and .test_wait (PTX ISA 9.7.13.15.16).

Both return true as soon as the phase is complete. The first time that a lane comes too early, it
gets false immediately, so that the program's reaction is tested. Later the lane waits. When no
thread can continue, the waiting lane gets false once more, as after a time limit, so that a program
that only polls can continue. The lane can get false in this way again only after an arrival at an
mbarrier or the cluster barrier, or after the exit of a thread; without them, it waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgen.emulate.ptx.asynchronous.mbarriers import Lanes, Mbarriers
from kgen.emulate.ptx.chunk import Mask, StallRank
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Source, Target, Wait
from kgen.emulate.ptx.frontend.decode import PRED, U32, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.synchronisation.mbarrier_objects import objects_at, synchronises
from kgen.emulate.ptx.types import TYPES, Array

_B64 = TYPES["b64"]
_PHASE_MASK = 0xFFFFFFFF


@dataclass(kw_only=True)
class _PhaseWait:
    """Wait of one try_wait or test_wait instruction.

    `given_up` are the lanes that `expire` has released since `machine.signals` last changed.
    """

    machine: Machine
    mbarriers: Mbarriers
    find: Callable[[Mask], list[Lanes]]
    awaited: Source
    by_parity: bool
    acquires: bool
    target: Target
    waiting: Array = field(default_factory=lambda: np.zeros((1, 1, 1), bool))
    expired: Array = field(default_factory=lambda: np.zeros((1, 1, 1), bool))
    given_up: Array = field(default_factory=lambda: np.zeros((1, 1, 1), bool))
    #: Lanes that got false because they came too early once.
    warned: Array = field(default_factory=lambda: np.zeros((1, 1, 1), bool))
    #: Value of `machine.signals` when lanes gave up.
    since: int = -1

    def ready(self, mask: Mask) -> Array:
        lanes = self.machine.active(mask)
        complete = np.zeros((1, 1, 1), bool)
        for who, done in self._complete(mask):
            complete = complete | (who.lanes & done)
        late = lanes & ~complete
        early = late & ~self.warned
        if np.count_nonzero(early):
            self.warned, self.expired = self.warned | early, self.expired | early
        self.waiting = (self.waiting & ~lanes) | late
        return complete | (late & self.expired)

    def run(self, mask: Mask) -> None:
        lanes = self.machine.active(mask)
        for who, done in self._complete(mask):
            self.target(np.asarray(done), who.lanes)
            if self.acquires:
                self.mbarriers.acquire(who, who.lanes & done)
        self.expired = self.expired & ~lanes
        self.waiting = self.waiting & ~lanes

    def expire(self) -> bool:
        """Release waiting lanes, each once per value of `machine.signals`; return whether there are
        any."""
        if self.since != self.machine.signals:
            self.since, self.given_up = self.machine.signals, np.zeros((1, 1, 1), bool)
        new = self.waiting & ~self.given_up
        self.expired = self.expired | new
        self.given_up = self.given_up | new
        return bool(np.count_nonzero(new))

    def describe(self, lanes: Array) -> tuple[str, str]:
        return self.mbarriers.describe(self.find(lanes)[0])

    def _complete(self, mask: Mask) -> list[tuple[Lanes, Array]]:
        """Return, for the lanes of each object, whether the awaited phase is complete."""
        found = []
        for who in self.find(mask):
            phase = self.mbarriers.phase(who).reshape(-1, 1, 1)
            if not np.count_nonzero(phase != phase[:1]):
                phase = phase[:1]
            awaited = self.awaited().astype(np.int64)
            if self.by_parity:
                done = (phase & 1) != (awaited & 1)
            else:
                done = (phase & _PHASE_MASK) != (awaited & _PHASE_MASK)
            found.append((who, done))
        return found


class _TimeLimits:
    """Time limits of a kernel's waits: lanes may give up when no thread can continue."""

    def __init__(self, machine: Machine) -> None:
        self.waits: list[_PhaseWait] = []
        machine.when_stalled(StallRank.TIME_LIMIT, self._expire)
        machine.on_reset.append(self._reset)

    def _expire(self) -> bool:
        let_go = [wait.expire() for wait in self.waits]
        return any(let_go)

    def _reset(self) -> None:
        nobody = np.zeros((1, 1, 1), bool)
        for wait in self.waits:
            wait.waiting = wait.expired = wait.given_up = wait.warned = nobody
            wait.since = -1


def wait(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Wait:
    by_parity = words.flag("parity")
    acquires = synchronises(words, release=True)
    find = objects_at(decoder, words, operands[1])
    words.finish()
    require(len(operands) in (3, 4))
    found = _PhaseWait(
        machine=decoder.machine,
        mbarriers=decoder.engine(Mbarriers),
        find=find,
        awaited=decoder.source(operands[2], U32 if by_parity else _B64),
        by_parity=by_parity,
        acquires=acquires,
        target=decoder.target(operands[0], PRED),
    )
    decoder.engine(_TimeLimits).waits.append(found)
    return Wait(ready=found.ready, action=found.run, describe=found.describe)
