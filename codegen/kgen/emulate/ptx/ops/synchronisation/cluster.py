"""Cluster instructions: barrier.cluster, mapa, getctarank (PTX ISA 9.7.13.3, 9.7.9.23,
9.7.9.24)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import SHARED_WINDOW, Mask, Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action, Operation, Wait
from kgen.emulate.ptx.exec.waiting.clusters import ClusterBarrier
from kgen.emulate.ptx.frontend.decode import U32, Builder, Decoder, apply
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.memory.accesses import RANK_SHIFT
from kgen.emulate.ptx.ops.synchronisation import control
from kgen.emulate.ptx.types import TYPES, Array

_OFFSET = (1 << RANK_SHIFT) - 1
_WINDOW = SHARED_WINDOW - 1


def _barrier(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    """barrier.cluster; other barriers belong to a CTA."""
    if not words.flag("cluster"):
        return control.BUILDERS["barrier"](decoder, words, operands)
    step = words.choice("arrive", "wait")
    order = words.choice("release", "relaxed", "acquire")
    words.flag("aligned")
    words.finish()
    barrier = decoder.engine(ClusterBarrier)
    if step == "arrive":
        releases = order != "relaxed"
        return lambda mask: barrier.arrive(mask, releases=releases)
    require(step == "wait")
    # A wait acquires, with or without the modifier.
    return Wait(
        ready=barrier.ready,
        action=lambda mask: barrier.wait(mask, acquires=True),
        describe=barrier.describe,
    )


def _map_address(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """mapa: the address of the same variable in the CTA of another rank."""
    words.flag("shared::cluster")
    type_ = words.only_type()
    require(type_.name in ("u32", "u64") and len(operands) == 3)
    target, machine = decoder.target(operands[0], type_), decoder.machine
    address, rank = decoder.source(operands[1], type_), decoder.source(operands[2], U32)

    def run(mask: Mask) -> None:
        named = rank()
        _check_rank(machine, named, mask)
        base = address() & ~type_.dtype.type(_WINDOW & ~_OFFSET)
        target(base | (named.astype(type_.dtype) + 1 << RANK_SHIFT).astype(type_.dtype), mask)

    return run


def _check_rank(machine: Machine, rank: Array, mask: Mask) -> None:
    outside = machine.active(mask) & (rank >= machine.cluster)
    if np.count_nonzero(outside):
        message = f"mapa to a rank beyond the {machine.cluster} CTAs of the cluster"
        raise Violation("out-of-bounds", message, outside)


def _get_rank(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """getctarank: the rank of the CTA that contains a shared address."""
    words.flag("shared::cluster")
    type_ = words.only_type()
    special = decoder.machine.special

    def rank(address: Array) -> Array:
        named = (address.astype(np.int64) & _WINDOW) >> RANK_SHIFT
        own = special["%cluster_ctarank"]
        return np.where(named == 0, own, named - 1).astype(np.uint32)

    return apply(decoder, operands, rank, [TYPES[f"b{type_.bits}"]], U32)


BUILDERS: dict[str, Builder] = {"barrier": _barrier, "mapa": _map_address, "getctarank": _get_rank}
