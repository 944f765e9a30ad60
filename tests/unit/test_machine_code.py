"""The hot loop of machine code: by hand on small texts, and on what the compilers make."""

from __future__ import annotations

import dataclasses

import pytest

import kgen
from kgen.check import machine_code, static
from kgen.check.machine_code import WORDS, Instruction, find_loop, parse_assembly
from kgen.check.verify import opened
from kgen.errors import AssembleError

#: A loop over k around one over registers, and a loop without products after them.
NESTED = """
kernel:
	.p2align 4
.LBB0_1:
	movq	%rdi, %rax
.LBB0_2:                                # comment
	vbroadcastss	(%rax), %ymm1
	vfmadd231ps	32(%rax), %ymm1, %ymm2  # ymm2 = ...
	vmovups	%ymm2, (%rsi)
	leaq	4(%rax), %rax
	jb	.LBB0_2
	addq	$4, %rdi
	jb	.LBB0_1
.LBB0_3:
	vmovups	(%rax), %ymm1
	jb	.LBB0_3
	retq
"""


def test_the_innermost_loop_with_products() -> None:
    loop = find_loop(parse_assembly(NESTED), WORDS["cpu"])
    assert loop is not None and not loop.matrix and not loop.unrolled
    assert (loop.instructions, loop.products, loop.loads) == (5, 1, 2)
    assert loop.mix(1) == (
        "the hot loop's 5 instructions: 1 multiply-adds, 2 loads (1 vbroadcastss)"
    )


def test_matrix_instructions_come_first_and_may_be_unrolled() -> None:
    fma = Instruction(opcode="FFMA")
    code = [Instruction(opcode="HMMA"), fma, Instruction(opcode="BRA", goes_to=1)]
    loop = find_loop(code, WORDS["cuda"])
    assert loop is not None and loop.matrix and loop.unrolled
    assert (loop.instructions, loop.products) == (3, 1)
    back = [*code[:2], Instruction(opcode="BRA", goes_to=0)]
    loop = find_loop(back, WORDS["cuda"])
    assert loop is not None and loop.matrix and not loop.unrolled  # the loop is all that there is
    peeled = [Instruction(opcode="HMMA"), *back, Instruction(opcode="HMMA")]
    peeled[3] = Instruction(opcode="BRA", goes_to=1)
    loop = find_loop(peeled, WORDS["cuda"])
    assert loop is not None and not loop.unrolled and (loop.instructions, loop.products) == (3, 1)
    assert find_loop([fma], WORDS["cuda"]) is None
    assert find_loop([], WORDS["cuda"]) is None


@pytest.mark.parametrize(
    ("family", "opcode", "kind"),
    [
        ("cuda", "HMMA", "matrix"), ("cuda", "HGMMA", "matrix"), ("cuda", "FFMA", "fma"),
        ("cuda", "HFMA2", "fma"), ("cuda", "IMAD", ""), ("cuda", "FADD", ""),
        ("amdgpu", "v_mfma_f32_16x16x16_f16", "matrix"), ("amdgpu", "v_smfmac_f32_16x16x32_f16",
        "matrix"), ("amdgpu", "v_wmma_f32_16x16x16_f16", "matrix"), ("amdgpu", "v_pk_fma_f32",
        "fma"), ("amdgpu", "v_fmac_f32_e32", "fma"), ("amdgpu", "v_mul_f32", ""),
        ("cpu", "tdpbf16ps", "matrix"), ("cpu", "vdpbf16ps", "fma"), ("cpu", "fmla", "fma"),
        ("cpu", "vfnmadd231ps", "fma"), ("cpu", "vmulps", ""),
    ],
)  # fmt: skip
def test_opcodes(family: str, opcode: str, kind: str) -> None:
    words = WORDS[family]
    found = "matrix" if words.matrix.match(opcode) else "fma" if words.fma.match(opcode) else ""
    assert found == kind


@pytest.mark.parametrize(
    ("target", "dtype", "opcode"),
    [
        ("sm_80", "f16", "HMMA"),
        ("gfx942", "f16", "v_mfma"),
        ("gfx1100", "f16", "v_wmma"),
        ("x86-64-v3", "f32", "vfmadd"),
        ("aarch64-neon", "f32", "fmla"),
    ],
)
def test_loops_that_compilers_make(target: str, dtype: str, opcode: str) -> None:
    spec = kgen.Matmul(m=1024, n=1024, k=4096, dtype=kgen.DType(dtype))
    with opened(kgen.build(spec, targets=[target])) as reader:
        (entry,) = reader.manifest.kernels
        facts = static.facts(reader, entry)
    loop, metrics = facts.loop, facts.metrics
    assert loop is not None and not loop.unrolled and loop.matrix == (dtype == "f16")
    assert sum(n for name, n in loop.opcodes.items() if name.startswith(opcode)) == loop.products
    assert metrics["hot_loop_instructions"] == loop.instructions
    assert 0 < metrics["matrix_share"] < 1 and metrics["loads_per_matrix"] > 0
    assert f"{loop.products} m" in (facts.summary or "")


def test_loads_are_of_data() -> None:
    opcodes = ("LDS", "LDSM", "LDGSTS", "LDG", "LDC", "LDGDEPBAR", "STG", "HMMA")
    code = [Instruction(opcode=opcode) for opcode in opcodes]
    loop = find_loop(code, WORDS["cuda"])
    assert loop is not None and loop.loads == 4


def test_spirv_has_resources_alone() -> None:
    with opened(kgen.build(kgen.Relu(shape=(64,)), targets=["vulkan1.3"])) as reader:
        facts = static.facts(reader, reader.manifest.kernels[0])
    assert facts.loop is None and facts.summary is None and "code_bytes" in facts.metrics


def test_occupancy_is_what_the_registers_allow() -> None:
    """128 threads with 128 registers: four CTAs in 65536; what is shared allows more."""
    with opened(kgen.build(kgen.Relu(shape=(4096,)), targets=["sm_80"])) as reader:
        (entry,) = reader.manifest.kernels
        launch = dataclasses.replace(entry.launches[0], block=(128, 1, 1))
        used = dataclasses.replace(entry.resources, registers=121, shared_memory=1024)
        changed = dataclasses.replace(entry, launches=(launch,), resources=used)
        assert static.facts(reader, changed).metrics["occupancy"] == 16
        used = dataclasses.replace(used, shared_memory=100 * 1024)
        changed = dataclasses.replace(changed, resources=used)
        assert static.facts(reader, changed).metrics["occupancy"] == 4


def test_code_of_another_llvm_is_refused() -> None:
    with opened(kgen.build(kgen.Relu(shape=(64,)), targets=["gfx942"])) as reader:
        other = dataclasses.replace(reader.manifest, provenance={"llvm": "1.0"})
        monkey = dataclasses.replace(reader, manifest=other)  # type: ignore[type-var]
        with pytest.raises(AssembleError, match="made by LLVM"):
            machine_code.hot_loop(monkey, other.kernels[0])
