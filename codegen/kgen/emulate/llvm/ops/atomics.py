"""atomicrmw and cmpxchg (LangRef "Memory Access and Addressing Operations").

Lanes execute in the order of workgroup and lane. Lanes with different addresses are independent, so
round n executes the n-th lane of every address at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.lanes import in_order, turns
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.memory.codec import decode, encode, gather, raw_dtype, scatter
from kgen.emulate.llvm.numbers import lifted, signed
from kgen.emulate.llvm.ops.arithmetic import build_integer
from kgen.emulate.llvm.order import scopes
from kgen.emulate.llvm.types import Array, Floating, LlvmInteger, LlvmType, Pointer, value_shape

Update = Callable[[Array, Array], Array]

_FLOATING: dict[str, Any] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmaximum": np.maximum,
    "fminimum": np.minimum,
}


def update_of(operation: str, type_: LlvmType) -> Update:
    """Return the function from the old value in memory and the operand to the new value.

    Raises TypeError if the type has no such operation.
    """
    if operation == "xchg":
        return lambda old, operand: operand
    if isinstance(type_.element, Floating):
        return lifted(_FLOATING[operation], type_.element)
    if not isinstance(type_, LlvmInteger):
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


def _atomicrmw(ins: LlvmInstruction) -> Callable[[Machine, Array, Array], Array]:
    type_, space = ins.type, _space(ins)
    update = update_of(ins.predicate, type_)
    adds = ins.predicate == "add" and isinstance(type_, LlvmInteger) and type_.fills_storage

    def atomic(m: Machine, pointer: Array, operand: Array) -> Array:
        operands = of_active(m, operand)
        if adds:
            return _add_up(m, ins, pointer, operands[0])

        def turn(old: Array, lanes: Array) -> Array:
            return update(old, operands[:, lanes])

        return in_turns(m, ins, pointer, type_, space, turn)

    return scopes.ordered(ins, atomic)


def _cmpxchg(ins: LlvmInstruction) -> Callable[[Machine, Array, Array, Array], tuple[Array, Array]]:
    type_, space = ins.operands[1].type, _space(ins)

    def exchange(m: Machine, pointer: Array, expected: Array, new: Array) -> tuple[Array, Array]:
        wanted, replacement = of_active(m, expected), of_active(m, new)

        def turn(old: Array, lanes: Array) -> Array:
            return np.where(old == wanted[:, lanes], replacement[:, lanes], old)

        old = in_turns(m, ins, pointer, type_, space, turn)
        return old, old == expected

    return scopes.ordered(ins, exchange)


def _space(ins: LlvmInstruction) -> int:
    pointer = ins.operands[0].type
    assert isinstance(pointer, Pointer)
    return pointer.space


def of_active(m: Machine, value: Array) -> Array:
    """Return the active lanes' values [1, active lane], in the order of workgroup and lane."""
    whole = np.broadcast_to(value, (m.workgroups, m.lanes, *value.shape[2:]))
    active: Array = whole[m.selected()][None]
    return active


def in_turns(
    m: Machine,
    ins: LlvmInstruction,
    pointer: Array,
    type_: LlvmType,
    space: int,
    turn: Callable[[Array, Array], Array],
) -> Array:
    """Replace the value at each active lane's address by ``turn(old, lanes)``; return the old
    values."""
    data, offsets = m.memory.atomic_place(m, ins, pointer, type_.size, space)
    seen: Array = np.zeros((1, len(offsets), *value_shape(type_)), type_.dtype)
    for lanes in turns(offsets):
        old = decode(gather(data, offsets[None, lanes], type_.size), type_)
        seen[:, lanes] = old
        scatter(data, offsets[None, lanes], encode(turn(old, lanes), type_))
    return _to_lanes(m, seen[0])


def _add_up(m: Machine, ins: LlvmInstruction, pointer: Array, operands: Array) -> Array:
    """Execute all rounds of an integer addition at once, with a cumulative sum per address."""
    data, offsets = m.memory.atomic_place(m, ins, pointer, ins.type.size, _space(ins))
    order, start = in_order(offsets)
    added, places = operands[order], offsets[order]
    sums = np.cumsum(added, dtype=added.dtype)
    before = sums - added
    within = before - before[start]
    found = gather(data, places[None], ins.type.size)[0].view(added.dtype) + within
    scatter(data, places, (found + added).view(raw_dtype(ins.type.size)))
    seen = np.empty_like(found)
    seen[order] = found
    return _to_lanes(m, seen)


def _to_lanes(m: Machine, values: Array) -> Array:
    """Scatter the values of the active lanes to [workgroup, lane]; other lanes get 0."""
    result = np.zeros((m.workgroups, m.lanes, *values.shape[1:]), values.dtype)
    result[m.selected()] = values
    return result


EFFECTS: dict[str, Build] = {"atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg}
