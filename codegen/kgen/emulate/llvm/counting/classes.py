"""Classes of executed instructions, with the names of :mod:`kgen.emulate.counters`.

The class is known before anything runs, so a flat access counts as an access to global memory. Its
traffic is counted in the memory that it reaches.
"""

from __future__ import annotations

import re

from kgen.emulate.llvm.frontend.module import Constant, LlvmInstruction
from kgen.emulate.llvm.types import CONSTANT, LDS, PRIVATE, Pointer

_BY_OPCODE = {
    opcode: name
    for name, opcodes in {
        "integer": "add sub mul udiv sdiv urem srem shl lshr ashr and or xor getelementptr"
        " ptrtoint inttoptr addrspacecast ptrtoaddr",
        "float": "fadd fsub fmul fneg",
        "special": "fdiv frem",
        "compare": "icmp fcmp",
        "convert": "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp",
        "control": "br switch ret unreachable",
        "atomic": "atomicrmw cmpxchg",
        "fence": "fence",
    }.items()
    for opcode in opcodes.split()
}
#: Classes of intrinsics: the first pattern that matches the name without ``llvm.`` and ``amdgcn.``.
_BY_CALLEE = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"s?w?mma|mfma|smfmac|x86\.tdp", "matrix"),
        (r"(raw|struct)\.(ptr\.)?buffer\.load\.(async\.)?lds", "copy"),
        (r"(global\.)?load\.(async\.)?to\.lds|global\.load\.(async\.)?lds", "copy"),
        (r"(raw|struct)\.(ptr\.)?buffer\.load|global\.load\.tr|masked\.load", "load.global"),
        (r"(raw|struct)\.(ptr\.)?buffer\.store|masked\.store", "store.global"),
        (r"(raw|struct)\.(ptr\.)?buffer\.atomic", "atomic"),
        (r"x86\.(tileload|ldtilecfg)", "load.global"),
        (r"x86\.tilestore", "store.global"),
        (r"ds\.read\.tr|ds\.load\.tr", "load.shared"),
        (r"prefetch", "prefetch"),
        (r"s\.barrier|s\.wait(cnt|\.)|wave\.barrier", "barrier"),
        (r"ds\.(b?permute|swizzle)|(update|mov)\.dpp|perml|(read|write)(first)?lane", "warp"),
        (r"ballot|mbcnt|icmp|fcmp|inverse\.ballot|wave\.reduce", "warp"),
        (r"fma\b|fmuladd|fmad|fma\.", "fma"),
        (r"[fsu]dot\d|sudot\d", "fma"),
        (r"sqrt|exp|log|sin\b|cos\b|tanh|pow|rcp|rsq|div\.|frexp|ldexp", "special"),
        (r"cvt|fptoui|fptosi|x86\.avx512bf16\.cvt", "convert"),
        (r"is\.fpclass|class", "compare"),
        (r"v?(fabs|floor|ceil|trunc|rint|nearbyint|round|copysign|canonicalize|fract)", "float"),
        (r"min(num|imum)|max(num|imum)|fm(ed|in|ax)|vector\.reduce\.f", "float"),
        (r"[su](min|max|add|sub|shl|mul)|abs|ct|bswap|bitreverse|fsh|[su]bfe|[su]med", "integer"),
        (r"vector\.reduce|sad\.|lerp|perm$|alignby|bfm", "integer"),
    )
)
#: Intrinsics that emit no instruction: optimiser assumptions and hints.
_NOT_ISSUED = re.compile(
    r"assume|lifetime|sideeffect|donothing|experimental\.noalias|sched\.|iglp"
    r"|expect|ssa\.copy|launder|dbg"
)
_REGISTER_BITS = 32
_SPACES = {LDS: "shared", PRIVATE: "other", CONSTANT: "other"}
_FAMILIES = re.compile(r"llvm\.(amdgcn\.)?")
_OVERLOADS = re.compile(r"(\.v\d+\w+)+$|\.internal$")


def class_of(ins: LlvmInstruction) -> str | None:
    """Return the class of an instruction; None if its execution does nothing."""
    if ins.opcode in ("load", "store"):
        pointer = ins.operands[-1].type.element
        assert isinstance(pointer, Pointer)
        return f"{ins.opcode}.{_SPACES.get(pointer.space, 'global')}"
    if ins.opcode in ("extractelement", "insertelement") and _names_registers(ins):
        return None
    if ins.opcode != "call":
        return _BY_OPCODE.get(ins.opcode, "move")
    if not ins.callee.startswith("llvm."):
        return "control"
    name = _FAMILIES.sub("", ins.callee, count=1)
    if _NOT_ISSUED.match(name):
        return None
    return next((class_ for pattern, class_ in _BY_CALLEE if pattern.match(name)), "other")


def _names_registers(ins: LlvmInstruction) -> bool:
    """Return whether an instruction only names registers: an element of a vector at a constant
    index."""
    vector, index = ins.operands[0].type, ins.operands[-1]
    return vector.element.bits >= _REGISTER_BITS and isinstance(index, Constant)


def matrix_name(ins: LlvmInstruction) -> str | None:
    """Return the NAME of the counter ``matrix.NAME``, such as mfma.f32.32x32x8f16; None for other
    instructions."""
    if ins.opcode != "call" or class_of(ins) != "matrix":
        return None
    return _OVERLOADS.sub("", _FAMILIES.sub("", ins.callee, count=1).removeprefix("x86."))
