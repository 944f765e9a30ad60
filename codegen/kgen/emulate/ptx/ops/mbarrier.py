"""mbarrier and cp.async.mbarrier.arrive (PTX ISA 9.7.13.15, 9.7.9.25.2).

try_wait and test_wait give true as soon as the phase is complete. The first time that a lane comes
too early it gets false at once, so that a program shows what it does then. From then on it waits;
when nobody else can go on either, it gets false once more, as a time limit would give it, so that a
program that only looks can go on. Lanes that come back and find nothing changed wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgen.emulate.ptx.decode import PRED, U32, Builder, Decoder
from kgen.emulate.ptx.machine import SHARED_WINDOW, Machine, Mask, Violation, uniform
from kgen.emulate.ptx.mbarriers import OBJECT_BYTES, Lanes, Mbarriers, per_cta
from kgen.emulate.ptx.operations import Action, Operation, Source, Target, Wait
from kgen.emulate.ptx.ops.loadstore import by_window
from kgen.emulate.ptx.syntax import Operand, Register
from kgen.emulate.ptx.tags import Strength
from kgen.emulate.ptx.types import TYPES, Array
from kgen.emulate.ptx.words import Unsupported, Words

_B64 = TYPES["b64"]
_SPACES = ("shared", "shared::cta", "shared::cluster")
_SCOPES = ("cta", "cluster")
_COUNT_SHIFT, _PHASE_MASK = 32, 0xFFFFFFFF


def _mbarrier(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Operation:
    step = words.choice(*_STEPS)
    if step is None:
        raise Unsupported
    if not words.flag("b64"):
        raise Unsupported
    return _STEPS[step](decoder, words, operands)


def objects_at(decoder: Decoder, words: Words, operand: Operand) -> Callable[[Mask], list[Lanes]]:
    """The objects that lanes address: memory that is accessed strongly, and checked so."""
    address, machine = _shared_address(decoder, words, operand), decoder.machine
    mbarriers = decoder.engine(Mbarriers)

    def find(mask: Mask) -> list[Lanes]:
        at = address(mask)
        machine.shared.read(at, OBJECT_BYTES, mask, strength=Strength.CLUSTER)
        return mbarriers.used_by(at, mask)

    return find


def _shared_address(decoder: Decoder, words: Words, operand: Operand) -> Callable[[Mask], Array]:
    """An address in shared memory, given as such or as a generic one."""
    named = words.choice(*_SPACES) is not None
    address, machine = decoder.address(operand), decoder.machine
    decoder.shared_access(OBJECT_BYTES)
    if named:
        return lambda mask: address()
    return lambda mask: _in_shared(machine, address(), mask)


def _in_shared(machine: Machine, address: Array, mask: Mask) -> Array:
    """Generic addresses as shared ones."""
    for space, _, lanes in by_window(machine, address, mask):
        if space != "shared":
            message = "an mbarrier must be in shared memory"
            raise Violation("out-of-bounds", message, machine.active(lanes), address)
    return address - SHARED_WINDOW


# ---------------------------------------------------------------------- life of an object


def _initialise(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
    address = _shared_address(decoder, words, operands[0])
    words.finish()
    count = decoder.source(operands[1], U32)
    machine, mbarriers = decoder.machine, decoder.engine(Mbarriers)

    def run(mask: Mask) -> None:
        at = address(mask)
        _overwrite(machine, at, mask)
        for who in mbarriers.used_by(at, mask):
            if (who.lanes.sum(axis=(1, 2)) > 1).any():
                raise Violation("race", "several lanes initialise one mbarrier", who.lanes)
            mbarriers.initialise(who, np.broadcast_to(per_cta(count(), who.lanes), machine.ctas))

    return run


def _invalidate(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
    address = _shared_address(decoder, words, operands[0])
    words.finish()
    machine, mbarriers = decoder.machine, decoder.engine(Mbarriers)

    def run(mask: Mask) -> None:
        at = address(mask)
        _overwrite(machine, at, mask)
        for who in mbarriers.used_by(at, mask):
            mbarriers.invalidate(who)

    return run


def _overwrite(machine: Machine, address: Array, mask: Mask) -> None:
    """What an object holds is opaque; here its bytes say nothing, but who wrote them counts."""
    machine.shared.store(address, [uniform(0, np.uint64)], OBJECT_BYTES, mask)


# ---------------------------------------------------------------------- arrivals


def _order(words: Words, release: bool) -> bool:
    """Whether the instruction releases (or acquires), from its words; the scope changes nothing."""
    weak = words.choice("relaxed", "release", "acquire") == "relaxed"
    words.choice(*_SCOPES)
    return release and not weak


def _arrive(drop: bool) -> Callable[[Decoder, Words, Sequence[Operand]], Action]:
    def build(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
        expects, no_complete = words.flag("expect_tx"), words.flag("noComplete")
        releases = _order(words, release=True)
        place = 1 if len(operands) > 1 and not _is_address(operands[0]) else 0
        target = None
        if place and operands[0] != Register(name="_"):
            target = decoder.target(operands[0], _B64)
        find = objects_at(decoder, words, operands[place])
        words.finish()
        rest = decoder.sources(operands[place + 1 :], U32)
        if len(rest) > 1 or (expects and not rest):
            raise Unsupported
        one = uniform(1, np.uint32)
        mbarriers, machine = decoder.engine(Mbarriers), decoder.machine

        def run(mask: Mask) -> None:
            for who in find(mask):
                count = rest[0]() if rest else one
                if expects:
                    mbarriers.expect(who, mbarriers.destination(who, per_cta(count, who.lanes)))
                    count = one
                if target is not None:
                    target(mbarriers.states(who, count).astype(np.uint64), who.lanes)
                known = None
                if releases and machine.checks:
                    known = mbarriers.known_at_destination(who, machine.clocks.release(who.lanes))
                mbarriers.arrive(who, count, known, drop=drop, may_complete=not no_complete)

        return run

    return build


def _is_address(operand: Operand) -> bool:
    return not isinstance(operand, Register)


def _transaction(
    method: Callable[[Mbarriers, Lanes, Array], None],
) -> Callable[[Decoder, Words, Sequence[Operand]], Action]:
    """expect_tx and complete_tx, of so many bytes."""

    def build(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
        _order(words, release=False)
        find = objects_at(decoder, words, operands[0])
        words.finish()
        nbytes = decoder.source(operands[1], U32)
        mbarriers = decoder.engine(Mbarriers)

        def run(mask: Mask) -> None:
            for who in find(mask):
                method(mbarriers, who, mbarriers.destination(who, per_cta(nbytes(), who.lanes)))

        return run

    return build


def _pending_count(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
    words.finish()
    target, state = decoder.target(operands[0], U32), decoder.source(operands[1], _B64)
    return lambda mask: target((state() >> np.uint64(_COUNT_SHIFT)).astype(np.uint32), mask)


# ---------------------------------------------------------------------- waiting


@dataclass(kw_only=True)
class _PhaseWait:
    """One try_wait or test_wait. `given_up` are the lanes that were told false since a change."""

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
    #: The lanes that were told false because they came too early once.
    warned: Array = field(default_factory=lambda: np.zeros((1, 1, 1), bool))
    #: What `machine.signals` was when lanes gave up.
    since: int = -1

    def ready(self, mask: Mask) -> Array:
        lanes = self.machine.active(mask)
        complete = np.zeros((1, 1, 1), bool)
        for who, done in self._complete(mask):
            complete = complete | (who.lanes & done)
        late = lanes & ~complete
        early = late & ~self.warned
        if early.any():
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
        """Let go whoever waits, and has not been let go since something changed."""
        if self.since != self.machine.signals:
            self.since, self.given_up = self.machine.signals, np.zeros((1, 1, 1), bool)
        new = self.waiting & ~self.given_up
        self.expired = self.expired | new
        self.given_up = self.given_up | new
        return bool(new.any())

    def describe(self, lanes: Array) -> tuple[str, str]:
        return self.mbarriers.describe(self.find(lanes)[0])

    def _complete(self, mask: Mask) -> list[tuple[Lanes, Array]]:
        """Whether the awaited phase is complete, for the lanes of each object."""
        found = []
        for who in self.find(mask):
            phase = self.mbarriers.phase(who).reshape(-1, 1, 1)
            if (phase == phase[:1]).all():
                phase = phase[:1]
            awaited = self.awaited().astype(np.int64)
            if self.by_parity:
                done = (phase & 1) != (awaited & 1)
            else:
                done = (phase & _PHASE_MASK) != (awaited & _PHASE_MASK)
            found.append((who, done))
        return found


class _TimeLimits:
    """All waits of a kernel, in which lanes may give up when nobody can go on."""

    def __init__(self, machine: Machine) -> None:
        self.waits: list[_PhaseWait] = []
        machine.on_stall.append(self._expire)
        machine.on_reset.append(self._reset)

    def _expire(self) -> bool:
        let_go = [wait.expire() for wait in self.waits]
        return any(let_go)

    def _reset(self) -> None:
        nobody = np.zeros((1, 1, 1), bool)
        for wait in self.waits:
            wait.waiting = wait.expired = wait.given_up = wait.warned = nobody
            wait.since = -1


def _wait(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Wait:
    by_parity = words.flag("parity")
    acquires = _order(words, release=True)
    find = objects_at(decoder, words, operands[1])
    words.finish()
    if len(operands) not in (3, 4):
        raise Unsupported
    wait = _PhaseWait(
        machine=decoder.machine,
        mbarriers=decoder.engine(Mbarriers),
        find=find,
        awaited=decoder.source(operands[2], U32 if by_parity else _B64),
        by_parity=by_parity,
        acquires=acquires,
        target=decoder.target(operands[0], PRED),
    )
    decoder.engine(_TimeLimits).waits.append(wait)
    return Wait(ready=wait.ready, action=wait.run, describe=wait.describe)


# ---------------------------------------------------------------------- cp.async


class _CopyArrivals:
    """Arrivals that wait for the cp.async copies of their threads: made when nobody can go on."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.due: list[tuple[int, Mbarriers, Lanes]] = []
        machine.on_stall.insert(0, self._make_one)
        machine.on_reset.append(self.due.clear)

    def _make_one(self) -> bool:
        if not self.due:
            return False
        machine = self.machine
        machine.pc, mbarriers, who = self.due.pop(0)
        machine.copies.finish(who.lanes)
        known = None
        if machine.checks:
            known = mbarriers.known_at_destination(who, machine.clocks.release(who.lanes))
        mbarriers.arrive(who, uniform(1, np.uint32), known)
        return True


def arrive_after_copies(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
    """cp.async.mbarrier.arrive: when all earlier cp.async of the thread are complete."""
    counted = not words.flag("noinc")
    if not (words.flag("arrive") and words.flag("b64")):
        raise Unsupported
    find = objects_at(decoder, words, operands[0])
    words.finish()
    machine, mbarriers = decoder.machine, decoder.engine(Mbarriers)
    arrivals = decoder.engine(_CopyArrivals)

    def run(mask: Mask) -> None:
        for who in find(mask):
            if counted:
                mbarriers.more(who, mbarriers.destination(who, who.lanes.sum(axis=(1, 2))))
            arrivals.due.append((machine.pc, mbarriers, who))

    return run


_STEPS: dict[str, Callable[[Decoder, Words, Sequence[Operand]], Operation]] = {
    "init": _initialise,
    "inval": _invalidate,
    "arrive": _arrive(drop=False),
    "arrive_drop": _arrive(drop=True),
    "expect_tx": _transaction(Mbarriers.expect),
    "complete_tx": _transaction(Mbarriers.complete_transaction),
    "test_wait": _wait,
    "try_wait": _wait,
    "pending_count": _pending_count,
}
BUILDERS: dict[str, Builder] = {"mbarrier": _mbarrier}
