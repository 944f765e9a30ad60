"""Addresses of a module's globals: LDS arrays, and initialised data in global memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from kgen.emulate.llvm.frontend.literals import constant_value
from kgen.emulate.llvm.frontend.module import (
    Constant,
    Global,
    LlvmFunction,
    LlvmInstruction,
    Module,
    Operand,
)
from kgen.emulate.llvm.memory.codec import encode
from kgen.emulate.llvm.memory.global_memory import GlobalBuffer, GlobalMemory
from kgen.emulate.llvm.types import LDS

#: Bytes between two arrays in LDS, so that an access past the end of one is not in the next.
_GAP_BYTES = 128


@dataclass(kw_only=True)
class Placement:
    symbols: dict[str, int] = field(default_factory=dict)
    """The address of every global."""
    lds_size: int = 0
    gaps: list[range] = field(default_factory=list)
    """Bytes of LDS between its arrays."""
    arrays: dict[str, int] = field(default_factory=dict)
    """Start of each array in LDS, in the order of their addresses."""

    def behind_gap(self, align: int) -> int:
        """Return the start of the next array in LDS, after a gap."""
        end = self.lds_size
        start = -(-(end + _GAP_BYTES) // align) * align if end else 0
        self.gaps.append(range(end, start))
        return start


def place_globals(module: Module, memory: GlobalMemory, dynamic_shared: int) -> Placement:
    """Place a module's globals in memory. LDS arrays of unknown size share the ``dynamic_shared``
    bytes of dynamic LDS."""
    placement = Placement()
    for variable in module.globals.values():
        if variable.space == LDS and variable.type.size:
            at = placement.behind_gap(variable.align)
            placement.symbols[variable.name] = placement.arrays[variable.name] = at
            placement.lds_size = at + variable.type.size
    dynamic = [g for g in module.globals.values() if g.space == LDS and not g.type.size]
    if dynamic:
        placement.lds_size = placement.behind_gap(max(variable.align for variable in dynamic))
        placement.symbols.update((variable.name, placement.lds_size) for variable in dynamic)
        placement.arrays[dynamic[0].name] = placement.lds_size
    placement.lds_size += dynamic_shared
    for variable in module.globals.values():
        if variable.space != LDS and variable.initializer is not None:
            placement.symbols[variable.name] = _initialised(variable, memory, placement)
    return placement


def _initialised(variable: Global, memory: GlobalMemory, placement: Placement) -> int:
    value = variable.initializer
    assert isinstance(value, Constant)
    if value.kind == "zero":
        data = np.zeros(variable.type.size, np.uint8)
    else:
        raw = encode(constant_value(value, placement.symbols), variable.type)
        data = np.ascontiguousarray(raw).reshape(-1).view(np.uint8)
    return memory.add(GlobalBuffer(name=f"@{variable.name}", symbol=variable.name, data=data))


@lru_cache(maxsize=8)
def static_lds(module: Module, name: str) -> int:
    """Return the bytes of the LDS arrays that a kernel or its callees use, as on a device.

    The emulator's gaps between arrays are not included. The last few results are cached.
    """
    named: set[str] = set()
    reached, ahead = {name}, [module.functions[name]]
    while ahead:
        for ins in _instructions(ahead.pop()):
            named.update(name for operand in ins.operands for name in _globals(operand))
            if ins.callee in module.functions and ins.callee not in reached:
                reached.add(ins.callee)
                ahead.append(module.functions[ins.callee])
    end = 0
    for variable in module.globals.values():
        if variable.space == LDS and variable.name in named:
            end = -(-end // max(1, variable.align)) * max(1, variable.align) + variable.type.size
    return end


def _instructions(function: LlvmFunction) -> Iterator[LlvmInstruction]:
    for block in function.blocks:
        yield from block.instructions


def _globals(operand: Operand) -> Iterator[str]:
    """Yield the names of the globals in an operand."""
    if not isinstance(operand, Constant):
        return
    if operand.kind == "global":
        yield str(operand.value)
    inner = operand.value
    if isinstance(inner, LlvmInstruction):
        for part in inner.operands:
            yield from _globals(part)
    elif isinstance(inner, list | tuple):
        for part in inner:
            yield from _globals(part)
