"""Blocks cut behind every barrier, where lanes of different waves may stand at a time."""

from __future__ import annotations

from kgen.emulate.llvm.frontend.module import BasicBlock, LlvmInstruction

_TERMINATORS = frozenset(("br", "switch", "ret", "unreachable"))
_BARRIERS = frozenset(("llvm.amdgcn.s.barrier", "llvm.amdgcn.s.barrier.wait"))

#: Pieces of a block are named by its label; from the second on with this and a number. No label
#: has a newline.
_SEPARATOR = "\n"


def split(block: BasicBlock) -> list[BasicBlock]:
    """The pieces of a block; what follows its terminator is dropped."""
    pieces: list[BasicBlock] = []
    body: list[LlvmInstruction] = []
    name = block.name
    for ins in block.instructions:
        body.append(ins)
        if ins.callee in _BARRIERS or ins.opcode in _TERMINATORS:
            pieces.append(BasicBlock(name=name, instructions=tuple(body)))
            name, body = continuation(name), []
    return pieces


def continuation(name: str) -> str:
    """The piece behind the barrier that ends the piece ``name``."""
    label, _, number = name.partition(_SEPARATOR)
    return f"{label}{_SEPARATOR}{int(number or 0) + 1}"


def block_of(name: str) -> str:
    """The label of the block that a piece belongs to."""
    return name.partition(_SEPARATOR)[0]


def targets(piece: BasicBlock) -> tuple[str, ...]:
    """The pieces that may follow."""
    last = piece.instructions[-1]
    return (continuation(piece.name),) if last.opcode == "call" else last.labels
