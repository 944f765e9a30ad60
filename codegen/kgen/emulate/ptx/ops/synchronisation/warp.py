"""Warp-level communication: shfl, vote, activemask, redux, elect (PTX ISA 9.7.9.6, 9.7.13.9 to
.16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.operations import Action, Collective
from kgen.emulate.ptx.exec.waiting.member_masks import bits_of, groups
from kgen.emulate.ptx.frontend.decode import PRED, U32, Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array

_LANE = np.arange(WARP, dtype=np.int64).reshape(1, 1, WARP)
_B32 = TYPES["b32"]
#: Value that a lane gets from one that does not take part. PTX does not specify it; a conspicuous
#: value shows the error.
_GARBAGE = np.uint32(0xFFFFFFFF)


def _whole_rows(value: Array) -> Array:
    """Broadcast a value to all 32 lanes."""
    return np.broadcast_to(value, (*value.shape[:2], WARP))


def _shuffle(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """shfl.sync d|p, a, b, c, membermask."""
    require(words.flag("sync"))
    mode = words.one_of("up", "down", "bfly", "idx")
    type_ = words.only_type()
    require(type_ is _B32 and len(operands) == 5)
    first, second = decoder.pair(operands[0])
    target = decoder.target(first, _B32)
    found = decoder.target(second, PRED) if second is not None else None
    value = decoder.source(operands[1], _B32)
    b, c, members = decoder.sources(operands[2:5], U32)

    def run(mask: Mask) -> None:
        source, inside = _source_lane(mode, b().astype(np.int64), c().astype(np.int64))
        result = _gather(value(), source)
        named = (members() >> source.astype(np.uint32)) & np.uint32(1) != 0
        if mask is not None:
            named = named & _gather(mask, source)
        if not named.all():
            result = np.where(named, result, _GARBAGE)
        target(result, mask)
        if found is not None:
            found(inside, mask)

    return Collective(action=run, members=members, spares_exited=True)


def _source_lane(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """Return the source lane of each lane, and whether it is inside the segment (PTX ISA,
    shfl.sync)."""
    distance, clamp, segment = b & 31, c & 31, (c >> 8) & 31
    lowest = _LANE & segment
    limit = lowest | (clamp & ~segment)
    if mode == "up":
        lane = _LANE - distance
        inside = lane >= limit
    elif mode == "down":
        lane = _LANE + distance
        inside = lane <= limit
    elif mode == "bfly":
        lane = _LANE ^ distance
        inside = lane <= limit
    else:
        lane = lowest | (distance & ~segment)
        inside = lane <= limit
    return np.where(inside, lane, _LANE), inside


def _gather(value: Array, lane: Array) -> Array:
    """Return each lane's value of another lane of its warp."""
    value = _whole_rows(value)
    if lane.shape[:2] == (1, 1):
        found: Array = value.take(lane[0, 0], axis=2)
        return found
    shape = np.broadcast_shapes(value.shape, lane.shape)
    return np.take_along_axis(np.broadcast_to(value, shape), np.broadcast_to(lane, shape), axis=2)


def _vote(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """vote.sync: all, any and uni give a predicate, ballot gives bits."""
    require(words.flag("sync"))
    mode = words.one_of("all", "any", "uni", "ballot")
    type_ = words.only_type()
    require(type_ is (_B32 if mode == "ballot" else PRED))
    target = decoder.target(operands[0], type_)
    value = decoder.predicate(operands[1])
    members = decoder.source(operands[2], U32)
    machine = decoder.machine

    def run(mask: Mask) -> None:
        true, lanes = value(), machine.active(mask)
        yes, no = bits_of(true & lanes) & members(), bits_of(~true & lanes) & members()
        target(_VOTES[mode](yes, no), mask)

    return Collective(action=run, members=members, spares_exited=True)


#: Results from the members whose predicate is true, and those whose predicate is false, as bits.
_VOTES: dict[str, Callable[[Array, Array], Array]] = {
    "all": lambda yes, no: np.asarray(no == 0),
    "any": lambda yes, no: np.asarray(yes != 0),
    "uni": lambda yes, no: np.asarray((yes == 0) | (no == 0)),
    "ballot": lambda yes, no: yes,
}


def _active_mask(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    words.type()
    words.finish()
    target = decoder.target(operands[0], _B32)
    machine = decoder.machine

    def run(mask: Mask) -> None:
        target(bits_of(machine.active(mask)), mask)

    return run


def _reduce(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """redux.sync: a reduction over the members of a warp."""
    require(words.flag("sync"))
    name = words.one_of("add", "min", "max", "and", "or", "xor")
    type_ = words.only_type()
    require(type_.dtype.itemsize == 4 and type_.dtype.kind in "iu")
    target = decoder.target(operands[0], type_)
    value = decoder.source(operands[1], type_)
    machine = decoder.machine
    limits = np.iinfo(type_.dtype)
    neutral = {"min": limits.max, "max": limits.min, "and": -1 if limits.min else limits.max}
    filler = type_.dtype.type(neutral.get(name, 0))
    function: np.ufunc = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[name]

    members = decoder.source(operands[2], U32)

    def run(mask: Mask) -> None:
        for _, lanes in groups(members(), machine.active(mask)):
            values = np.where(_whole_rows(lanes), value(), filler)
            target(function.reduce(values, axis=2, keepdims=True, dtype=type_.dtype), lanes)

    return Collective(action=run, members=members, spares_exited=True)


def _elect(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """elect.sync d|p, membermask: elect one member; equal masks elect the same one, which depends
    on the seed."""
    require(words.flag("sync"))
    words.finish()
    first, second = decoder.pair(operands[0])
    target = decoder.target(first, U32)
    chosen = decoder.target(second, PRED) if second is not None else None
    members = decoder.source(operands[1], U32)
    machine = decoder.machine

    def run(mask: Mask) -> None:
        for named, lanes in groups(members(), machine.active(mask)):
            rank = _ranks(machine.launch.seed, named)
            ranked = np.where(_whole_rows(lanes), rank, WARP)
            leader = ranked.argmin(axis=2, keepdims=True)
            target(leader.astype(np.uint32), lanes)
            if chosen is not None:
                chosen(np.asarray(leader == _LANE), lanes)

    return Collective(action=run, members=members, spares_exited=True)


def _ranks(seed: int, members: int) -> Array:
    """Return each lane's rank in an election of these members, [1, 1, lane]; seed 0 elects the
    lowest."""
    if not seed:
        return _LANE
    return np.random.default_rng((seed, members)).permutation(WARP).reshape(1, 1, WARP)


BUILDERS: dict[str, Builder] = {
    "shfl": _shuffle,
    "vote": _vote,
    "activemask": _active_mask,
    "redux": _reduce,
    "elect": _elect,
}
