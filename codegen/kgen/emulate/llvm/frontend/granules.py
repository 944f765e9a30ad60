"""Granules: the units of memory in which races are detected."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from kgen.emulate.llvm.frontend.module import LlvmInstruction, Module
from kgen.emulate.llvm.types import BUFFER_RESOURCE, LlvmType, Pointer

_LARGEST = 16
#: Bytes in which buffer resources are checked, and so accessed; see :mod:`intrinsics.buffers`.
_BUFFER_PART = 4


@lru_cache(maxsize=16)
def granule(module: Module, spaces: tuple[int, ...]) -> int:
    """Return the largest power of two that divides every access to the address spaces. The last few
    results are cached."""
    smallest = _LARGEST
    for function in module.functions.values():
        for block in function.blocks:
            for ins in block.instructions:
                smallest = min(smallest, _unit(ins, spaces))
    return smallest


def _unit(ins: LlvmInstruction, spaces: Collection[int]) -> int:
    """Return the largest power of two that divides the size and the alignment of an access to the
    spaces."""
    accessed = _accessed(ins)
    if accessed is None or not any(_is_in(operand.type, spaces) for operand in ins.operands):
        return _LARGEST
    size, align = accessed
    both = size | align | _LARGEST
    return both & -both


def _accessed(ins: LlvmInstruction) -> tuple[int, int] | None:
    """Return (bytes, alignment) of an access; None for other instructions."""
    if ins.opcode == "store":
        return ins.operands[0].type.size, ins.align
    if ins.opcode == "load":
        return ins.type.size, ins.align
    if ins.opcode in ("atomicrmw", "cmpxchg"):
        return ins.operands[-1].type.size, ins.align
    if ins.callee.startswith("llvm.mem"):
        return 1, 1
    if "load" in ins.callee or "store" in ins.callee or "buffer" in ins.callee:
        data = ins.type if ins.result else ins.operands[0].type
        element = data.element
        size = _BUFFER_PART if isinstance(element, Pointer) else data.size
        return min(size, _BUFFER_PART), _BUFFER_PART
    return None


def _is_in(type_: LlvmType, spaces: Collection[int]) -> bool:
    element = type_.element
    if not isinstance(element, Pointer):
        return type_.lanes == 4  # a resource as four dwords
    return element.space in (0, BUFFER_RESOURCE, *spaces)
