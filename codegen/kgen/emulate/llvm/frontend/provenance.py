"""Global memory that a kernel may write, found from its text. Race detection ignores other buffers.

A pointer originates from parameters and globals, through address arithmetic, phis, selects, and
conversions to integers and back. Any other pointer, such as one loaded from memory, may point
anywhere.
"""

from __future__ import annotations

from functools import lru_cache

from kgen.emulate.llvm.frontend.module import (
    Constant,
    LlvmFunction,
    LlvmInstruction,
    Module,
    Operand,
)
from kgen.emulate.llvm.types import Pointer

#: Origin of a pointer that may point anywhere.
_ANYWHERE = ""
_ONLY_FIRST = frozenset(("getelementptr",))
_PASSES = frozenset(
    ("llvm.amdgcn.make.buffer.rsrc", "llvm.ptrmask", "llvm.launder.invariant.group")
)


@lru_cache(maxsize=8)
def written_by(module: Module, name: str) -> frozenset[str] | None:
    """Return the names of parameters and globals that a kernel may write; None for any memory. The
    last few results are cached."""
    kernel = module.functions[name]
    if any(_written(ins) for other in _called(module, kernel) for ins in _instructions(other)):
        return None
    origins = _origins(kernel)
    written: set[str] = set()
    for ins in _instructions(kernel):
        for operand in _written(ins):
            written |= _of(operand, origins)
    return None if _ANYWHERE in written else frozenset(written)


def _called(module: Module, kernel: LlvmFunction) -> list[LlvmFunction]:
    """Return the module's functions that a kernel calls, directly or indirectly."""
    found: dict[str, LlvmFunction] = {}
    left = [kernel]
    while left:
        callees = {ins.callee for ins in _instructions(left.pop())} & module.functions.keys()
        new = {name: module.functions[name] for name in callees - found.keys()}
        found |= new
        left += new.values()
    return list(found.values())


def _instructions(function: LlvmFunction) -> list[LlvmInstruction]:
    return [ins for block in function.blocks for ins in block.instructions]


def _written(ins: LlvmInstruction) -> tuple[Operand, ...]:
    """Return the operands through which an instruction may write."""
    if ins.opcode == "store":
        return ins.operands[1:]
    if ins.opcode in ("atomicrmw", "cmpxchg"):
        return ins.operands[:1]
    if ins.opcode != "call" or "load" in ins.callee:  # Loads to LDS write no buffer.
        return ()
    if any(ins.callee.startswith(name) for name in _PASSES):
        return ()
    if ins.callee.startswith(("llvm.memcpy", "llvm.memmove", "llvm.memset")):
        return ins.operands[:1]
    if pointers := tuple(o for o in ins.operands if isinstance(o.type.element, Pointer)):
        return pointers
    # A buffer resource may be passed as four words, so any operand may be part of one.
    resources = "buffer.store" in ins.callee or "buffer.atomic" in ins.callee
    return ins.operands if resources else ()


def _origins(kernel: LlvmFunction) -> dict[str, frozenset[str]]:
    """Return the possible origins of each value that holds an address."""
    origins: dict[str, frozenset[str]] = {
        parameter.name: frozenset((parameter.name,))
        for parameter in kernel.parameters
        if isinstance(parameter.type, Pointer)
    }
    changed = True
    while changed:
        changed = False
        for ins in _instructions(kernel):
            if not ins.result:
                continue
            found = _result(ins, origins) | origins.get(ins.result, frozenset())
            if found != origins.get(ins.result, frozenset()):
                origins[ins.result] = found
                changed = True
    return origins


def _result(ins: LlvmInstruction, origins: dict[str, frozenset[str]]) -> frozenset[str]:
    if ins.opcode == "alloca":
        return frozenset(("an alloca",))
    if ins.opcode in ("load", "atomicrmw", "cmpxchg", "extractvalue"):
        is_address = isinstance(ins.type.element, Pointer)
        return frozenset((_ANYWHERE,)) if is_address else frozenset()
    operands = ins.operands[:1] if ins.opcode in _ONLY_FIRST else ins.operands
    if ins.opcode == "call" and not any(ins.callee.startswith(name) for name in _PASSES):
        is_address = isinstance(ins.type.element, Pointer)
        return frozenset((_ANYWHERE,)) if is_address else frozenset()
    found = frozenset().union(*(_of(operand, origins, strict=False) for operand in operands))
    if ins.opcode == "inttoptr" and not found:
        return frozenset((_ANYWHERE,))
    return found


def _of(
    operand: Operand, origins: dict[str, frozenset[str]], *, strict: bool = True
) -> frozenset[str]:
    """Return the origins of an operand. With ``strict``, an operand without an origin may point
    anywhere."""
    if not isinstance(operand, Constant):
        found = origins.get(operand.name, frozenset())
        return found or frozenset((_ANYWHERE,)) if strict else found
    if operand.kind == "global":
        return frozenset((str(operand.value),))
    if operand.kind == "expression":
        inner = operand.value
        assert isinstance(inner, LlvmInstruction)
        return _result(inner, origins)
    return frozenset()
