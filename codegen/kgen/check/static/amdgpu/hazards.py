"""AMDGPU hazards: results that the hardware does not interlock before their use.

Sources: CDNA3 and CDNA4 manuals, "Manually Inserted Wait States (NOPs)"; RDNA3 manual, "WMMA";
LLVM, GCNHazardRecognizer.cpp, which has the numbers for all processors. Checked on gfx9:

- operands and results of matrix instructions
- results of transcendental functions (from gfx942 on)
- sources of DPP
- scalar registers of memory addresses, and of vector instructions, such as a carry (from gfx942 on)
- vcc of v_div_fmas

Checked from gfx11 on: a WMMA after one whose result it multiplies. Other hazards are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgen.check.static.amdgpu.decode import Decoded, registers
from kgen.check.static.amdgpu.flow import Finding, State, states_before

#: Longest distance that any rule requires.
_FAR = 24
_MEMORY = re.compile(r"(global|buffer|scratch|flat)_")
_TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
_DPP = re.compile(r"quad_perm|row_|wave_|dpp8")
_SHAPE = re.compile(r"_(\d+)x\d+x(\d+)_?([a-z]+\d+)")
_DPP_AFTER_VECTOR, _ADDRESS_AFTER_SCALAR, _FMAS_AFTER_VCC, _USE_AFTER_FUNCTION = 2, 5, 4, 1
#: Wait states from gfx942 on.
_VECTOR_AFTER_SCALAR = 2


def hazards(code: Sequence[Decoded], arch: str) -> list[Finding]:
    def step(state: State, ins: Decoded) -> State:
        passed = int(ins.operands[0], 0) + 1 if ins.opcode == "s_nop" else 1
        after = {at: count + passed for at, count in state.items() if count + passed <= _FAR}
        if ins.opcode.startswith("v_"):
            after[ins.at] = 0
        return after

    found = []
    for ins, state in zip(code, states_before(code, step), strict=True):
        for at, count in sorted(state.items()):
            needed, register = _needed(code[at], ins, arch)
            if count < needed:
                what = f"{register} needs {needed} wait states, has {count}"
                found.append(
                    Finding(at=ins.at, instruction=str(ins), after=str(code[at]), what=what)
                )
    return found


def _needed(before: Decoded, ins: Decoded, arch: str) -> tuple[int, str]:
    """Return the wait states between two instructions, and the register that requires them."""
    wanted = _on_gfx9 if arch.startswith("gfx9") else _on_rdna
    return max(wanted(before, ins, arch), default=(0, ""))


def _on_rdna(before: Decoded, ins: Decoded, arch: str) -> Iterator[tuple[int, str]]:
    if before.is_matrix and ins.is_matrix and arch >= "gfx11":
        for register in before.writes & _factors(ins):
            yield 1, register


def _on_gfx9(before: Decoded, ins: Decoded, arch: str) -> Iterator[tuple[int, str]]:
    if before.is_matrix:
        touched = _factors(ins) if ins.is_matrix else ins.touches
        for register in before.writes & touched:
            yield _after_matrix(before, arch), register
        # The addend is read late, and nothing may overwrite it before, not even a load.
        if _is_xdl(before.opcode, arch) and not ins.is_matrix:
            for register in registers(before.operands[3]) & ins.writes:
                yield _passes(before.opcode, arch) - 1, register
        return
    if _DPP.search(ins.modifiers):
        for register in before.writes & registers(ins.operands[1]):
            yield _DPP_AFTER_VECTOR, register
    if _MEMORY.match(ins.opcode):
        for register in before.writes & ins.reads:
            if register.startswith("s"):
                yield _ADDRESS_AFTER_SCALAR, register
    if ins.opcode.startswith("v_") and arch != "gfx90a":
        for register in before.writes & ins.reads:
            if register == "vcc" or register.startswith("s"):
                yield _VECTOR_AFTER_SCALAR, register
    if ins.opcode.startswith("v_div_fmas") and "vcc" in before.writes:
        yield _FMAS_AFTER_VCC, "vcc"
    is_function, uses = (_TRANSCENDENTAL.match(i.opcode) is not None for i in (before, ins))
    if is_function and not uses and arch != "gfx90a" and ins.opcode.startswith("v_"):
        for register in before.writes & ins.touches:
            yield _USE_AFTER_FUNCTION, register


def _factors(matrix: Decoded) -> frozenset[str]:
    """Return the registers of the factors.

    The addend may come directly from the instruction before.
    """
    return registers(" ".join(matrix.operands[1:3]))


def _is_xdl(opcode: str, arch: str) -> bool:
    """Whether the XDL unit computes a matrix instruction.

    From gfx942 on another unit multiplies f32: its results are complete sooner, and addends may be
    overwritten at once (LLVM, GCNHazardRecognizer.cpp).
    """
    shape = _SHAPE.search(opcode)
    return arch == "gfx90a" or shape is None or shape[3] != "f32"


def _after_matrix(matrix: Decoded, arch: str) -> int:
    passes = _passes(matrix.opcode, arch)
    if not _is_xdl(matrix.opcode, arch):
        return passes + 2
    return passes + 3 + (arch == "gfx950" and passes != 2)


def _passes(opcode: str, arch: str) -> int:
    """Return the passes of a matrix instruction, of four cycles each: work over rate.

    A pass of a 16-bit type does 1024 products on gfx90a, twice that on gfx942 and four times that
    on gfx950. 8-bit types have the same rate on gfx90a, and twice the rate elsewhere. Source: AMD
    matrix instruction calculator.
    """
    match = _SHAPE.search(opcode)
    if match is None:
        return 16
    size, depth, kind = int(match[1]), int(match[2]), match[3]
    work = size * size * depth
    rate = {"gfx90a": 512, "gfx942": 1024}.get(arch, 2048)
    if kind == "f32":
        return work // 128
    if kind == "xf32":
        return work // 512
    if kind in ("i8", "fp8", "bf8", "f8") and arch != "gfx90a":
        rate *= 2
    return work // rate if kind != "f64" else 16
