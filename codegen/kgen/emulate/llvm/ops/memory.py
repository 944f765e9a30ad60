"""getelementptr, load, store, alloca and fence (LangRef "Memory Access and Addressing
Operations")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import Constant, LlvmInstruction, Operand
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.memory.codec import decode, encode
from kgen.emulate.llvm.numbers import integer, signed
from kgen.emulate.llvm.order import scopes
from kgen.emulate.llvm.types import Aggregate, Array, LlvmType, LlvmVector, Pointer, stride


def _getelementptr(ins: LlvmInstruction) -> Callable[..., Array]:
    """Build getelementptr: add a constant and, for each variable index, index times stride."""
    constant, terms = _steps(ins)
    index_types = [integer(index.type) for index in ins.operands[1:]]
    vector = ins.type.lanes > 0

    def address(pointer: Array, *indices: Array) -> Array:
        result = pointer[..., None] if vector and pointer.ndim == 2 else pointer
        if constant:
            result = result + constant
        for position, step in terms:
            index = signed(indices[position], index_types[position]).astype(np.int64)
            index = index[..., None] if vector and index.ndim == 2 else index
            result = result + index * step
        return result

    return address


def _steps(ins: LlvmInstruction) -> tuple[int, list[tuple[int, int]]]:
    """Return the constant byte offset, and (position among the indices, stride) per variable
    index."""
    constant = 0
    terms: list[tuple[int, int]] = []
    type_ = ins.source_type
    for position, index in enumerate(ins.operands[1:]):
        fixed = _fixed(index)
        if position and isinstance(type_, Aggregate) and fixed is not None:
            constant += type_.offset(fixed)
            type_ = type_.field(fixed)
            continue
        if position:
            type_, step = _element_of(type_)
        else:
            step = stride(type_)
        if fixed is None:
            terms.append((position, step))
        else:
            constant += fixed * step
    return constant, terms


def _fixed(index: Operand) -> int | None:
    """Return the value of an index that is a constant integer; None for a variable index."""
    if isinstance(index, Constant) and not index.type.lanes:
        if index.kind == "zero":
            return 0
        if isinstance(index.value, int):
            return index.value
    return None


def _element_of(type_: LlvmType) -> tuple[LlvmType, int]:
    """Return the element type of an array or vector, and the stride in bytes."""
    if isinstance(type_, LlvmVector):
        return type_.of, type_.of.size
    if isinstance(type_, Aggregate):
        return type_.field(0), stride(type_.field(0))
    raise TypeError(f"{type_} has no elements to step over")


def _load(ins: LlvmInstruction) -> Callable[[Machine, Array], Any]:
    type_ = ins.type
    size = type_.size
    space = _space(ins.operands[0].type)

    def load(m: Machine, pointer: Array) -> Any:
        return decode(m.memory.load(m, ins, pointer, size, ins.align, space), type_)

    return scopes.ordered(ins, load)


def _store(ins: LlvmInstruction) -> Callable[[Machine, Any, Array], None]:
    type_ = ins.operands[0].type
    space = _space(ins.operands[1].type)

    def store(m: Machine, value: Any, pointer: Array) -> None:
        m.memory.store(m, ins, pointer, encode(value, type_), ins.align, space)

    return scopes.ordered(ins, store)


def _space(type_: LlvmType) -> int:
    assert isinstance(type_, Pointer)
    return type_.space


def _alloca(ins: LlvmInstruction) -> Callable[..., Array]:
    size = stride(ins.source_type)

    def allocate(m: Machine, count: Array | None = None) -> Array:
        number = 1 if count is None else int(count.max())
        return np.full((1, 1), m.memory.allocate(size, ins.align, number), np.int64)

    return allocate


def _fence(ins: LlvmInstruction) -> Callable[[Machine], None]:
    return lambda m: scopes.fence(m, ins)


PURE: dict[str, Build] = {"getelementptr": _getelementptr}
EFFECTS: dict[str, Build] = {"alloca": _alloca, "fence": _fence, "load": _load, "store": _store}
