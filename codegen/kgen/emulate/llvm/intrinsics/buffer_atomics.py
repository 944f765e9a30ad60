"""Atomics through AMD buffer resources. An access out of range has no effect and returns 0.

The range check covers the whole element. Source: LLVM "User Guide for AMDGPU Backend",
llvm.amdgcn.raw.ptr.buffer.atomic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.intrinsics.buffers import place_of
from kgen.emulate.llvm.ops.atomics import in_turns, of_active, update_of
from kgen.emulate.llvm.types import GLOBAL, Array

#: Name of the atomicrmw operation by the last part of the intrinsic's name.
_OPERATIONS = {
    "swap": "xchg",
    "smin": "min",
    "smax": "max",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
    **{name: name for name in ("add", "sub", "umin", "umax", "and", "or", "xor")},
    **{name: name for name in ("fadd", "fmin", "fmax")},
}


def _atomic(operation: str) -> Callable[[LlvmInstruction], Callable[..., Array]]:
    """Return the builder of a buffer atomic.

    The operands are ``(operand, resource, voffset, soffset, aux)``.
    """

    def build(ins: LlvmInstruction) -> Callable[..., Array]:
        update = update_of(operation, ins.type)
        immediate(ins.operands[4])

        def atomic(m: Machine, operand: Array, value: Array, *offsets: Array) -> Array:
            def turn(old: Array, lanes: Array) -> Array:
                return update(old, operands[:, lanes])

            place = place_of(value, ins.operands[1].type, offsets[0], offsets[1])
            with m.narrowed(place.inside(m, ins, 0, ins.type.size)) as any_lane:
                if not any_lane:
                    return np.zeros((1, 1, *operand.shape[2:]), operand.dtype)
                operands = of_active(m, operand)
                return in_turns(m, ins, place.address, ins.type, GLOBAL, turn)

        return atomic

    return build


def _compare_and_swap(ins: LlvmInstruction) -> Callable[..., Array]:
    """Build a buffer compare-and-swap.

    The operands are ``(new, expected, resource, voffset, soffset, aux)``.
    """
    immediate(ins.operands[5])

    def exchange(m: Machine, new: Array, expected: Array, value: Array, *offsets: Array) -> Array:
        def turn(old: Array, lanes: Array) -> Array:
            return np.where(old == wanted[:, lanes], replacement[:, lanes], old)

        place = place_of(value, ins.operands[2].type, offsets[0], offsets[1])
        with m.narrowed(place.inside(m, ins, 0, ins.type.size)) as any_lane:
            if not any_lane:
                return np.zeros((1, 1), new.dtype)
            wanted, replacement = of_active(m, expected), of_active(m, new)
            return in_turns(m, ins, place.address, ins.type, GLOBAL, turn)

    return exchange


EFFECTS: dict[str, Build] = {
    **{
        f"llvm.amdgcn.raw.{pointer}buffer.atomic.{name}": _atomic(operation)
        for pointer in ("", "ptr.")
        for name, operation in _OPERATIONS.items()
    },
    "llvm.amdgcn.raw.buffer.atomic.cmpswap": _compare_and_swap,
    "llvm.amdgcn.raw.ptr.buffer.atomic.cmpswap": _compare_and_swap,
}
