"""Branches, exits, barriers and fences (PTX ISA 9.7.12, 9.7.13.1 to 9.7.13.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.exec.operations import Action, Barrier, Branch, Collective, Exit, Operation
from kgen.emulate.ptx.exec.waiting.member_masks import groups
from kgen.emulate.ptx.frontend.decode import U32, Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand, Register
from kgen.emulate.ptx.memory.semantics import scope_of
from kgen.emulate.ptx.types import all_of, any_of

_FENCE_WORDS = frozenset(["sc", "acq_rel", "acquire", "release"])


def _branch(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Branch:
    words.flag("uni")
    words.finish()
    (label,) = operands
    if not isinstance(label, Register) or label.name not in decoder.kernel.labels:
        raise Unsupported
    return Branch(target=decoder.kernel.labels[label.name])


def _exit(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Exit:
    words.flag("uni")
    words.finish()
    return Exit()


def _trap(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    words.finish()
    machine = decoder.machine

    def run(mask: Mask) -> None:
        raise Violation("trap", "the kernel executes a trap", machine.active(mask))

    return run


def fence(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """Build a memory fence. All kinds act as acquire and release in their scope."""
    words.drop(_FENCE_WORDS)
    scope = scope_of(words)
    words.finish()
    machine = decoder.machine
    if not machine.checks:
        return lambda mask: None
    return lambda mask: machine.order.fence(scope, mask)


def _barrier(opcode: str) -> Builder:
    """Return the builder of bar, which is always aligned, or barrier."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        return _any_barrier(decoder, words, operands, opcode == "bar")

    return build


def _any_barrier(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], aligned: bool
) -> Operation:
    words.flag("cta")
    aligned = words.flag("aligned") or aligned
    if words.flag("warp"):
        return _warp_barrier(decoder, words, operands)
    kind = words.choice("sync", "arrive", "red")
    if kind == "red":
        return _barrier_reduction(decoder, words, operands, aligned)
    words.finish()
    if kind is None or (kind == "arrive" and len(operands) != 2):
        raise Unsupported
    return Barrier(
        number=decoder.source(operands[0], U32),
        threads=decoder.source(operands[1], U32) if len(operands) > 1 else None,
        waits=kind == "sync",
        aligned=aligned,
    )


def _barrier_reduction(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], aligned: bool
) -> Barrier:
    """bar.red: a reduction of a predicate over all threads that take part."""
    name = words.one_of("popc", "and", "or")
    type_ = words.only_type()
    require((name == "popc") == (type_ is U32) and len(operands) in (3, 4))
    target = decoder.target(operands[0], type_)
    value = decoder.predicate(operands[-1])
    machine = decoder.machine

    def reduce(mask: Mask) -> None:
        lanes = machine.everywhere(machine.active(mask))
        true = machine.everywhere(value())
        if name == "popc":
            result = (true & lanes).sum(axis=(1, 2), keepdims=True).astype(np.uint32)
        elif name == "and":
            result = all_of(true | ~lanes, (1, 2), keepdims=True)
        else:
            result = any_of(true & lanes, (1, 2), keepdims=True)
        target(result, mask)

    threads = decoder.source(operands[2], U32) if len(operands) == 4 else None
    return Barrier(
        number=decoder.source(operands[1], U32),
        threads=threads,
        waits=True,
        aligned=aligned,
        reduction=reduce,
    )


def _warp_barrier(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """bar.warp.sync: orders memory accesses of the lanes of a warp."""
    require(words.flag("sync"))
    words.finish()
    machine = decoder.machine

    members = decoder.source(operands[0], U32)

    def run(mask: Mask) -> None:
        if machine.checks:
            for _, lanes in groups(members(), machine.active(mask)):
                machine.clocks.warp_barrier(lanes)

    return Collective(action=run, members=members, spares_exited=True)


BUILDERS: dict[str, Builder] = {
    "bra": _branch,
    "ret": _exit,
    "exit": _exit,
    "trap": _trap,
    "bar": _barrier("bar"),
    "barrier": _barrier("barrier"),
    "membar": fence,
    "fence": fence,
}
