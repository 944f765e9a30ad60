"""cp.async and its groups (PTX ISA 9.7.9.25.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.asynchronous.copies import AsyncCopy
from kgen.emulate.ptx.chunk import Mask, uniform
from kgen.emulate.ptx.counting.traffic import Requests
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import PRED, U32, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand, Register
from kgen.emulate.ptx.ops.memory.loadstore import HINTS

_SIZES = {"ca": (4, 8, 16), "cg": (16,)}


def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """Build the instructions that begin with cp.async, from the words after it."""
    machine = decoder.machine
    step = words.choice("commit_group", "wait_group", "wait_all")
    if step is None:
        return _copy(decoder, words, operands)
    words.finish()
    if step == "commit_group":
        return lambda mask: machine.copies.commit(mask)
    pending = decoder.constant(operands[0]) if step == "wait_group" else 0

    def wait(mask: Mask) -> None:
        if step == "wait_all":
            machine.copies.commit(mask)
        machine.copies.wait(pending, mask)
        if machine.traffic is not None:
            machine.traffic.in_flight(machine.copies.in_flight(mask))

    return wait


def _copy(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    cache = words.one_of("ca", "cg")
    require(words.flag("shared") or words.flag("shared::cta"))
    if words.flag("L2::cache_hint"):
        operands = operands[:-1]
    require(words.flag("global") and len(operands) in (3, 4))
    words.drop(HINTS)
    words.finish()
    nbytes = decoder.constant(operands[2])
    require(nbytes in _SIZES[cache])
    decoder.shared_access(nbytes)
    decoder.access("global", nbytes)
    machine, requests = decoder.machine, decoder.watch()
    to, source = decoder.address(operands[0]), decoder.address(operands[1])
    all_of_it = uniform(nbytes, np.int64)
    given = None
    ignored = None
    if len(operands) == 4:
        if isinstance(operands[3], Register) and _is_predicate(decoder, operands[3]):
            ignored = decoder.source(operands[3], PRED)
        else:
            given = decoder.source(operands[3], U32)

    def run(mask: Mask) -> None:
        amount = all_of_it
        if given is not None:
            amount = given().astype(np.int64)
        elif ignored is not None:
            amount = np.where(ignored(), 0, all_of_it)
        copy = AsyncCopy(to=to(), source=source(), nbytes=nbytes, given=amount, mask=mask)
        machine.copies.issue(copy)
        if requests is not None:
            _count(requests, copy)

    return run


def _count(requests: Requests, copy: AsyncCopy) -> None:
    """Count the bytes written to shared memory and the bytes read from global memory."""
    requests.shared(copy.to, copy.nbytes, copy.mask)
    for nbytes in np.unique(copy.given):
        if nbytes > 0:
            reads = copy.given == nbytes
            mask = reads if copy.mask is None else copy.mask & reads
            requests.load(copy.source, min(int(nbytes), copy.nbytes), mask)


def _is_predicate(decoder: Decoder, operand: Register) -> bool:
    type_ = decoder.kernel.registers.get(operand.name)
    return type_ is not None and type_.kind == "pred"
