"""Instructions mbarrier.* and cp.async.mbarrier.arrive (PTX ISA 9.7.13.15).

The instructions that wait are in `mbarrier_wait`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.ptx.asynchronous.copy_arrivals import CopyArrivals
from kgen.emulate.ptx.asynchronous.mbarriers import OBJECT_BYTES, Lanes, Mbarriers, per_cta
from kgen.emulate.ptx.chunk import Mask, Violation, uniform
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action, Operation
from kgen.emulate.ptx.frontend.decode import SINK, U32, Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand, Register
from kgen.emulate.ptx.ops.synchronisation.mbarrier_objects import (
    objects_at,
    shared_address,
    synchronises,
)
from kgen.emulate.ptx.ops.synchronisation.mbarrier_wait import wait
from kgen.emulate.ptx.types import TYPES, Array

_B64 = TYPES["b64"]
_COUNT_SHIFT = 32


def _mbarrier(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    step = words.one_of(*_STEPS)
    require(words.flag("b64"))
    return _STEPS[step](decoder, words, operands)


# ---------------------------------------------------------------------- life of an object


def _initialise(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    address = shared_address(decoder, words, operands[0])
    words.finish()
    count = decoder.source(operands[1], U32)
    machine, mbarriers = decoder.machine, decoder.engine(Mbarriers)

    def run(mask: Mask) -> None:
        at = address(mask)
        _overwrite(machine, at, mask)
        for who in mbarriers.used_by(at, mask):
            if np.count_nonzero(who.lanes.sum(axis=(1, 2)) > 1):
                raise Violation("race", "several lanes initialise one mbarrier", who.lanes)
            mbarriers.initialise(who, np.broadcast_to(per_cta(count(), who.lanes), machine.ctas))

    return run


def _invalidate(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
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
    """Record a write of an mbarrier's opaque bytes, whose values are not used."""
    machine.shared.store(address, [uniform(0, np.uint64)], OBJECT_BYTES, mask)


# ---------------------------------------------------------------------- arrivals


def _arrive(drop: bool) -> Callable[[Decoder, OpcodeWords, Sequence[Operand]], Action]:
    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        expects, no_complete = words.flag("expect_tx"), words.flag("noComplete")
        releases = synchronises(words, release=True)
        place = 1 if len(operands) > 1 and isinstance(operands[0], Register) else 0
        target = None
        if place and operands[0] != SINK:
            target = decoder.target(operands[0], _B64)
        find = objects_at(decoder, words, operands[place])
        words.finish()
        rest = decoder.sources(operands[place + 1 :], U32)
        require(len(rest) <= 1 and (not expects or rest))
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


def _transaction(
    method: Callable[[Mbarriers, Lanes, Array], None],
) -> Callable[[Decoder, OpcodeWords, Sequence[Operand]], Action]:
    """Return the builder of expect_tx or complete_tx."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
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


def _pending_count(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    words.finish()
    target, state = decoder.target(operands[0], U32), decoder.source(operands[1], _B64)
    return lambda mask: target((state() >> np.uint64(_COUNT_SHIFT)).astype(np.uint32), mask)


# ---------------------------------------------------------------------- cp.async


def arrive_after_copies(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]
) -> Action:
    """cp.async.mbarrier.arrive: arrive when all earlier cp.async of the thread are complete."""
    counted = not words.flag("noinc")
    require(words.flag("arrive") and words.flag("b64"))
    find = objects_at(decoder, words, operands[0])
    words.finish()
    mbarriers, arrivals = decoder.engine(Mbarriers), decoder.engine(CopyArrivals)

    def run(mask: Mask) -> None:
        for who in find(mask):
            if counted:
                mbarriers.more(who, mbarriers.destination(who, who.lanes.sum(axis=(1, 2))))
            arrivals.add(mbarriers, who)

    return run


_STEPS: dict[str, Callable[[Decoder, OpcodeWords, Sequence[Operand]], Operation]] = {
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
