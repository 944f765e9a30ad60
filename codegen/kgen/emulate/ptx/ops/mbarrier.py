"""mbarrier and cp.async.mbarrier.arrive (PTX ISA 9.7.13.15, 9.7.9.25.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kgen.emulate.ptx.decode import SINK, U32, Builder, Decoder
from kgen.emulate.ptx.known import Known
from kgen.emulate.ptx.machine import Machine, Mask, Violation, uniform
from kgen.emulate.ptx.mbarriers import OBJECT_BYTES, Lanes, Mbarriers, per_cta
from kgen.emulate.ptx.operations import Action, Operation
from kgen.emulate.ptx.ops.mbarrier_objects import objects_at, shared_address, synchronises
from kgen.emulate.ptx.ops.mbarrier_wait import wait
from kgen.emulate.ptx.syntax import Operand, Register
from kgen.emulate.ptx.types import TYPES, Array
from kgen.emulate.ptx.words import Unsupported, Words

_B64 = TYPES["b64"]
_COUNT_SHIFT = 32


def _mbarrier(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Operation:
    step = words.choice(*_STEPS)
    if step is None:
        raise Unsupported
    if not words.flag("b64"):
        raise Unsupported
    return _STEPS[step](decoder, words, operands)


# ---------------------------------------------------------------------- life of an object


def _initialise(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
    address = shared_address(decoder, words, operands[0])
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
    address = shared_address(decoder, words, operands[0])
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


def _arrive(drop: bool) -> Callable[[Decoder, Words, Sequence[Operand]], Action]:
    def build(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
        expects, no_complete = words.flag("expect_tx"), words.flag("noComplete")
        releases = synchronises(words, release=True)
        place = 1 if len(operands) > 1 and not _is_address(operands[0]) else 0
        target = None
        if place and operands[0] != SINK:
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
        synchronises(words, release=False)
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


# ---------------------------------------------------------------------- cp.async


@dataclass(frozen=True, kw_only=True)
class _Arrival:
    """Lanes arrive when their copies below a number are complete; `known` is what they release."""

    pc: int
    who: Lanes
    copies: int
    known: Known | None


class _CopyArrivals:
    """Arrivals that wait for the cp.async copies of their threads.

    They are made as late as they may: when nobody can go on, in their order or in another one by
    the launch's seed. Those of one thread keep theirs, so that its later copies stay under way.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.on_stall.insert(0, self._make_one)
        machine.on_reset.append(self._reset)
        self._reset()

    def _reset(self) -> None:
        self.due: list[_Arrival] = []
        self._order = np.random.default_rng(self.machine.launch.seed)

    def add(self, mbarriers: Mbarriers, who: Lanes) -> None:
        """These lanes will arrive, when all their copies until now are complete."""
        machine, known = self.machine, None
        copies = machine.copies.count(who.lanes)
        if machine.checks:
            known = mbarriers.known_at_destination(who, machine.clocks.release(who.lanes))
        self._mbarriers = mbarriers
        self.due.append(_Arrival(pc=machine.pc, who=who, copies=copies, known=known))

    def _make_one(self) -> bool:
        if not self.due:
            return False
        first = self._first_of_threads() if self.machine.launch.seed else [0]
        arrival = self.due.pop(int(self._order.choice(first)))
        self.machine.pc = arrival.pc
        self.machine.copies.finish(arrival.who.lanes, arrival.copies)
        self._mbarriers.arrive(arrival.who, uniform(1, np.uint32), arrival.known)
        return True

    def _first_of_threads(self) -> list[int]:
        """The arrivals that no earlier one of the same thread is due before."""
        found, before = [], np.zeros((1, 1, 1), bool)
        for number, arrival in enumerate(self.due):
            if not (arrival.who.lanes & before).any():
                found.append(number)
            before = before | arrival.who.lanes
        return found


def arrive_after_copies(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Action:
    """cp.async.mbarrier.arrive: when all earlier cp.async of the thread are complete."""
    counted = not words.flag("noinc")
    if not (words.flag("arrive") and words.flag("b64")):
        raise Unsupported
    find = objects_at(decoder, words, operands[0])
    words.finish()
    mbarriers, arrivals = decoder.engine(Mbarriers), decoder.engine(_CopyArrivals)

    def run(mask: Mask) -> None:
        for who in find(mask):
            if counted:
                mbarriers.more(who, mbarriers.destination(who, who.lanes.sum(axis=(1, 2))))
            arrivals.add(mbarriers, who)

    return run


_STEPS: dict[str, Callable[[Decoder, Words, Sequence[Operand]], Operation]] = {
    "init": _initialise,
    "inval": _invalidate,
    "arrive": _arrive(drop=False),
    "arrive_drop": _arrive(drop=True),
    "expect_tx": _transaction(Mbarriers.expect),
    "complete_tx": _transaction(Mbarriers.complete_transaction),
    "test_wait": wait,
    "try_wait": wait,
    "pending_count": _pending_count,
}
BUILDERS: dict[str, Builder] = {"mbarrier": _mbarrier}
