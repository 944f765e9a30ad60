"""Pieces of blocks: blocks are split after every barrier, where waves wait for each other."""

from __future__ import annotations

from kgen.emulate.llvm.frontend.module import BasicBlock, LlvmInstruction

_TERMINATORS = frozenset(("br", "switch", "ret", "unreachable"))
_BARRIERS = frozenset(("llvm.amdgcn.s.barrier", "llvm.amdgcn.s.barrier.wait"))

#: Separator in the names of pieces: the block's label, and from the second piece on this and a
#: number. Labels have no newline.
_SEPARATOR = "\n"


def split(block: BasicBlock) -> list[BasicBlock]:
    """Return the pieces of a block, without anything after its terminator."""
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
    """Return the name of the piece after the barrier that ends the piece ``name``."""
    label, _, number = name.partition(_SEPARATOR)
    return f"{label}{_SEPARATOR}{int(number or 0) + 1}"


def block_of(name: str) -> str:
    """Return the label of a piece's block."""
    return name.partition(_SEPARATOR)[0]


def targets(piece: BasicBlock) -> tuple[str, ...]:
    """Return the names of the pieces that may follow."""
    last = piece.instructions[-1]
    return (continuation(piece.name),) if last.opcode == "call" else last.labels
