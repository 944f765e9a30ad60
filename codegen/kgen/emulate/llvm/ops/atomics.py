"""atomicrmw and cmpxchg (LangRef "Memory Access and Addressing Operations").

Lanes take turns in the order of workgroup and lane. Lanes at different addresses do not see each
other, so that one round does the n-th lane of every address at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kgen.emulate.llvm import scopes
from kgen.emulate.llvm.codec import decode, encode, gather, scatter
from kgen.emulate.llvm.machine import Machine
from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.numbers import lifted, signed
from kgen.emulate.llvm.ops.arithmetic import build_integer
from kgen.emulate.llvm.program import Build
from kgen.emulate.llvm.types import Array, Floating, Integer, Pointer, Type

Update = Callable[[Array, Array], Array]

_FLOATING: dict[str, Any] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmaximum": np.maximum,
    "fminimum": np.minimum,
}


def _update(operation: str, type_: Type) -> Update:
    """The new value in memory from the old one and the operand."""
    if operation == "xchg":
        return lambda old, operand: operand
    if isinstance(type_, Floating):
        return lifted(_FLOATING[operation], type_)
    if not isinstance(type_, Integer):
        raise TypeError(f"atomicrmw {operation} of {type_}")
    if operation in ("max", "min"):
        greater = operation == "max"
        return lambda old, operand: np.where(
            (signed(old, type_) > signed(operand, type_)) == greater, old, operand
        )
    if operation in ("umax", "umin"):
        pick = np.maximum if operation == "umax" else np.minimum
        return lambda old, operand: pick(old, operand)
    if operation == "nand":
        return lambda old, operand: ~(old & operand)
    if operation == "uinc_wrap":
        return lambda old, operand: np.where(old >= operand, 0, old + 1).astype(old.dtype)
    if operation == "udec_wrap":
        return lambda old, operand: np.where((old == 0) | (old > operand), operand, old - 1).astype(
            old.dtype
        )
    if operation in ("add", "sub", "and", "or", "xor"):
        return build_integer(operation, type_)
    raise TypeError(f"atomicrmw {operation}")


def _atomicrmw(ins: Instruction) -> Callable[[Machine, Array, Array], Array]:
    type_ = ins.type
    update = _update(ins.predicate, type_)

    def atomic(m: Machine, pointer: Array, operand: Array) -> Array:
        operands = _of_active(m, operand)

        def turn(old: Array, lanes: Array) -> Array:
            return update(old, operands[:, lanes])

        return _in_turns(m, ins, pointer, type_, turn)

    return scopes.ordered(ins, atomic)


def _cmpxchg(ins: Instruction) -> Callable[[Machine, Array, Array, Array], tuple[Array, Array]]:
    type_ = ins.operands[1].type

    def exchange(m: Machine, pointer: Array, expected: Array, new: Array) -> tuple[Array, Array]:
        wanted, replacement = _of_active(m, expected), _of_active(m, new)

        def turn(old: Array, lanes: Array) -> Array:
            return np.where(old == wanted[:, lanes], replacement[:, lanes], old)

        old = _in_turns(m, ins, pointer, type_, turn)
        return old, old == expected

    return scopes.ordered(ins, exchange)


def _of_active(m: Machine, value: Array) -> Array:
    """[1, active lane] in the order of workgroup and lane."""
    whole = np.broadcast_to(value, (m.workgroups, m.lanes, *value.shape[2:]))
    active: Array = whole[m.selected()][None]
    return active


def _in_turns(
    m: Machine,
    ins: Instruction,
    pointer: Array,
    type_: Type,
    turn: Callable[[Array, Array], Array],
) -> Array:
    """Replace the value at each active lane's address by ``turn(old, lanes)``; the old values."""
    space = ins.operands[0].type
    assert isinstance(space, Pointer)
    data, offsets = m.memory.atomic_place(m, ins, pointer, type_.size, space.space)
    seen: Array = np.zeros((1, len(offsets)), type_.dtype)
    for lanes in _rounds(offsets):
        old = decode(gather(data, offsets[None, lanes], type_.size), type_)
        seen[:, lanes] = old
        scatter(data, offsets[None, lanes], encode(turn(old, lanes), type_))
    result = np.zeros((m.workgroups, m.lanes), seen.dtype)
    result[m.selected()] = seen[0]
    return result


def _rounds(offsets: Array) -> Iterator[Array]:
    """Index arrays that together are all lanes; each holds an address at most once, and lanes of
    one address come in order."""
    order = np.argsort(offsets, kind="stable")
    in_order = offsets[order]
    first = np.concatenate(([True], in_order[1:] != in_order[:-1]))
    starts = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    nth = np.arange(len(order)) - starts
    for n in range(int(nth.max(initial=-1)) + 1):
        yield order[nth == n]


EFFECTS: dict[str, Build] = {"atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg}
