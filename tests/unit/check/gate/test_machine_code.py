"""Machine instructions as they are read from assembly text of each family."""

from __future__ import annotations

import dataclasses

import pytest

import kgen
from kgen.check.static import machine_code
from kgen.check.static.machine_code import parse_assembly, parse_spirv
from kgen.check.verify.run import opened
from kgen.errors import AssembleError
from tests.specs import relu_of

X86 = """
kernel:                                 # @kernel
	.p2align 4
.LBB0_2:                                # comment
	movq	%rdx, 88(%rsp)                  # 8-byte Spill
	vfmadd231ps	32(%rax), %ymm1, %ymm2  # ymm2 = (ymm1 * mem) + ymm2
	cmpq	88(%rsp), %rbx                  # 8-byte Folded Reload
	jb	.LBB0_2
	retq
"""
AARCH64 = """
.LBB0_1:                                // =>This Inner Loop Header: Depth=1
	str	q1, [sp, #-64]                  // 16-byte Folded Spill
	add	x8, x8, #16
	tbz	w9, #0, .LBB0_1
"""
AMD = """
.LBB0_1:                                ; %loop
	buffer_store_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Spill
	s_cbranch_scc1 .LBB0_1
; %bb.2:
	s_endpgm
"""
SPIRV = """
; a comment
%float = OpTypeFloat 32
%main = OpFunction %void None %kernel_type
%loop = OpLabel
OpLoopMerge %done %again None
%sum = OpExtInst %float %glsl Fma %a %b %c
%again = OpLabel
OpBranchConditional %more %loop %done
%done = OpLabel
OpReturn
"""


@pytest.mark.parametrize(
    ("text", "opcodes", "spills"),
    [
        (X86, ["movq", "vfmadd231ps", "cmpq", "jb", "retq"], [0, 2]),
        (AARCH64, ["str", "add", "tbz"], [0]),
        (AMD, ["buffer_store_dword", "s_cbranch_scc1", "s_endpgm"], [0]),
    ],
)
def test_assembly(text: str, opcodes: list[str], spills: list[int]) -> None:
    code = parse_assembly(text)
    assert [ins.opcode for ins in code] == opcodes
    assert [i for i, ins in enumerate(code) if ins.spill] == spills
    assert [ins.goes_to for ins in code if ins.goes_to is not None] == [0]


def test_spirv() -> None:
    code = parse_spirv(SPIRV)
    assert [ins.opcode for ins in code] == [
        "OpFunction", "OpLabel", "OpLoopMerge", "Fma", "OpLabel", "OpBranchConditional", "OpLabel",
        "OpReturn",
    ]  # fmt: skip
    assert [ins.goes_to for ins in code] == [None] * 5 + [1, None, None]


@pytest.mark.integration
def test_code_of_another_llvm_is_refused() -> None:
    with opened(kgen.build(relu_of((64,)), targets=["gfx942"])) as reader:
        other = dataclasses.replace(reader.manifest, provenance={"llvm": "1.0"})
        changed = dataclasses.replace(reader, manifest=other)  # type: ignore[type-var]
        with pytest.raises(AssembleError, match=r"built with llvm 1\.0, and .* build the bundle"):
            machine_code.instructions(changed, other.kernels[0])
