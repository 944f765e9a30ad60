"""The classes by which executed instructions are counted in a report."""

from __future__ import annotations

import re

from kgen.emulate.llvm.lexer import words
from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.types import CONSTANT, LDS, PRIVATE, Pointer

_OPCODES = {
    **dict.fromkeys(
        words("add sub mul udiv sdiv urem srem shl lshr ashr and or xor icmp"), "integer"
    ),
    **dict.fromkeys(words("fadd fsub fmul fdiv frem fneg fcmp"), "float"),
    **dict.fromkeys(words("trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp"), "convert"),
    **dict.fromkeys(words("getelementptr ptrtoint inttoptr addrspacecast"), "address"),
    **dict.fromkeys(words("br switch ret unreachable"), "control"),
    **dict.fromkeys(words("atomicrmw cmpxchg"), "atomic"),
    "fence": "fence",
}
_CALLS = (
    (re.compile(r"llvm\.amdgcn\.(s?w?mmac?|mfma|wmma)|llvm\.x86\.tdp"), "matrix"),
    (re.compile(r"llvm\.amdgcn\.s\.barrier$|llvm\.amdgcn\.s\.barrier\.wait"), "barrier"),
    (re.compile(r"llvm\.amdgcn\.raw\.(ptr\.)?buffer\.load|llvm\.masked\.load"), "load.global"),
    (re.compile(r"llvm\.amdgcn\.raw\.(ptr\.)?buffer\.store|llvm\.masked\.store"), "store.global"),
    (re.compile(r"llvm\.x86\.tileload"), "load.tile"),
    (re.compile(r"llvm\.x86\.tilestore"), "store.tile"),
    (
        re.compile(r"llvm\.amdgcn\.(ds\.|update\.dpp|mov\.dpp|perml|read|ballot|mbcnt)"),
        "cross-lane",
    ),
    (re.compile(r"llvm\.(fma|fmuladd)\b"), "fma"),
)
_SPACES = {LDS: "lds", PRIVATE: "private", CONSTANT: "constant"}


def class_of(ins: Instruction) -> str | None:
    """The class of an instruction; None for one that does nothing when it is executed."""
    if ins.opcode in ("load", "store"):
        pointer = ins.operands[-1].type
        assert isinstance(pointer, Pointer)
        return f"{ins.opcode}.{_SPACES.get(pointer.space, 'global')}"
    if ins.opcode == "call":
        return next((name for pattern, name in _CALLS if pattern.match(ins.callee)), "other")
    return _OPCODES.get(ins.opcode, "move")
