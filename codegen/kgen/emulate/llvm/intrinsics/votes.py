"""Wave votes: ballots, compare masks, lane counts, and reductions.

Source: LLVM "User Guide for AMDGPU Backend" (intrinsics).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.numbers import floating, signed, widen, wrap
from kgen.emulate.llvm.types import Array, LlvmInteger


def _bits(m: Machine, condition: Array, dtype: np.dtype[Any]) -> Array:
    """Return, in every lane, one bit per active lane of the wave for which the condition holds."""
    if m.mask is not None:
        condition = condition & m.mask
    waves = m.waves(condition)
    weights = np.uint64(1) << np.arange(m.wave, dtype=np.uint64)
    return m.of_wave((waves * weights).sum(axis=2).astype(dtype))


def _ballot(ins: LlvmInstruction) -> Callable[[Machine, Array], Array]:
    return lambda m, condition: _bits(m, condition, ins.type.dtype)


_RELATIONS: tuple[Any, ...] = (
    *(np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal),
)
#: First integer predicate of LLVM (icmp eq) and first signed one (icmp sgt).
_FIRST_INTEGER, _FIRST_SIGNED = 32, 38


def _compare_integers(ins: LlvmInstruction) -> Callable[..., Array]:
    predicate = immediate(ins.operands[2])
    element = ins.operands[0].type
    if not isinstance(element, LlvmInteger):
        raise TypeError(f"a comparison of {element}")
    is_signed = predicate >= _FIRST_SIGNED
    relation = _RELATIONS[predicate - (36 if is_signed else _FIRST_INTEGER)]

    def compare(m: Machine, a: Array, b: Array, _: Array) -> Array:
        if is_signed:
            a, b = signed(a, element), signed(b, element)
        return _bits(m, relation(a, b), ins.type.dtype)

    return compare


def _compare_floats(ins: LlvmInstruction) -> Callable[..., Array]:
    """Build llvm.amdgcn.fcmp.

    The bits of the predicate: 1 equal, 2 greater, 4 less, 8 unordered.
    """
    predicate = immediate(ins.operands[2])
    type_ = floating(ins.operands[0].type)

    def compare(m: Machine, a: Array, b: Array, _: Array) -> Array:
        a, b = widen(a, type_), widen(b, type_)
        unordered = np.isnan(a) | np.isnan(b)
        holds = unordered & bool(predicate & 8)
        for bit, relation in ((1, np.equal), (2, np.greater), (4, np.less)):
            if predicate & bit:
                holds = holds | relation(a, b)
        return _bits(m, holds, ins.type.dtype)

    return compare


def _inverse_ballot(m: Machine, bits: Array) -> Array:
    """Return for each lane its bit of a number that is uniform in the wave."""
    lane = (m.lane_numbers() % m.wave).astype(bits.dtype)
    return np.asarray((bits >> lane) & bits.dtype.type(1)).astype(np.bool_)


#: Operation, and the value that an inactive lane contributes, from the number of bits.
_REDUCTIONS: dict[str, tuple[Any, Callable[[int], int]]] = {
    "add": (np.add, lambda bits: 0),
    "umin": (np.minimum, lambda bits: (1 << bits) - 1),
    "umax": (np.maximum, lambda bits: 0),
    "min": (np.minimum, lambda bits: (1 << (bits - 1)) - 1),
    "max": (np.maximum, lambda bits: -(1 << (bits - 1))),
    "and": (np.bitwise_and, lambda bits: (1 << bits) - 1),
    "or": (np.bitwise_or, lambda bits: 0),
    "xor": (np.bitwise_xor, lambda bits: 0),
}


def _reduce(ins: LlvmInstruction) -> Callable[[Machine, Array, Array], Array]:
    """wave.reduce: reduce over the active lanes; every lane gets the result."""
    name = ins.callee.split(".")[4]
    operation, neutral = _REDUCTIONS[name]
    type_ = ins.type
    if not isinstance(type_, LlvmInteger):
        raise TypeError(f"a reduction of {type_}")

    def reduce(m: Machine, value: Array, _: Array) -> Array:
        numbers = signed(value, type_) if name in ("min", "max") else value
        idle = numbers.dtype.type(neutral(type_.width))
        active = np.True_ if m.mask is None else m.mask
        shape = np.broadcast_shapes(numbers.shape, np.shape(active), (1, m.lanes))
        whole = m.waves(np.broadcast_to(np.where(active, numbers, idle), shape))
        return m.of_wave(wrap(operation.reduce(whole, axis=2), type_))

    return reduce


def _count_below(ins: LlvmInstruction) -> Callable[[Machine, Array, Array], Array]:
    """V_MBCNT: count the bits of the mask that belong to lower lanes, in its low or its high
    half."""
    base = 32 if ins.callee.endswith("hi") else 0

    def count(m: Machine, mask: Array, start: Array) -> Array:
        lane = m.lane_numbers() % m.wave
        below = (1 << np.clip(lane - base, 0, 32)) - 1
        below_mine = np.bitwise_count(mask.astype(np.int64) & below)
        return np.asarray(below_mine + start).astype(np.uint32)

    return count


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.ballot": _ballot,
    "llvm.amdgcn.icmp": _compare_integers,
    "llvm.amdgcn.fcmp": _compare_floats,
    "llvm.amdgcn.inverse.ballot": fixed(_inverse_ballot),
    "llvm.amdgcn.mbcnt.lo": _count_below,
    "llvm.amdgcn.mbcnt.hi": _count_below,
    **{f"llvm.amdgcn.wave.reduce.{name}": _reduce for name in _REDUCTIONS},
}
