"""Hot loop of machine code: by hand on small texts, and in compiled kernels."""

from __future__ import annotations

import pytest

import kgen
from kgen.check.static import facts as static
from kgen.check.static.hot_loop import WORDS, Loop, WorkKind, find
from kgen.check.static.machine_code import MachineInstruction, parse_assembly
from kgen.check.verify.run import opened

#: A loop over k inside one over columns, and a loop without products after them.
NESTED = """
.LBB0_1:
	movq	%rdi, %rax
.LBB0_2:
	vbroadcastss	(%rax), %ymm1
	vfmadd231ps	32(%rax), %ymm1, %ymm2
	vmovups	%ymm2, (%rsi)
	leaq	4(%rax), %rax
	vmovups	%ymm2, 88(%rsp)         # 32-byte Spill
	jb	.LBB0_2
	addq	$4, %rdi
	jb	.LBB0_1
.LBB0_3:
	vmovups	(%rax), %ymm1
	vmovups	(%rax), %ymm2
	vmovups	(%rax), %ymm3
	jb	.LBB0_3
	retq
"""
HMMA, FFMA = MachineInstruction(opcode="HMMA"), MachineInstruction(opcode="FFMA")


def branch(goes_to: int) -> MachineInstruction:
    return MachineInstruction(opcode="BRA", goes_to=goes_to)


def hot(code: list[MachineInstruction], family: str = "cuda") -> Loop:
    loop = find(code, WORDS[family])
    assert loop is not None
    return loop


def test_the_innermost_loop_with_products() -> None:
    loop = hot(parse_assembly(NESTED), "cpu")
    assert (loop.kind, loop.unrolled) == (WorkKind.FMA, False)
    assert (loop.instructions, loop.work, loop.loads, loop.spills) == (6, 1, 2, 1)
    assert loop.mix(1) == "2 vmovups, 4 others"
    assert loop.share == 1 / 6


def test_without_products_it_is_the_loop_that_loads() -> None:
    code = [ins for ins in parse_assembly(NESTED) if not ins.opcode.startswith("vfmadd")]
    loads = [*code[-5:-2], branch(0)]
    loop = hot(loads, "cpu")
    assert (loop.kind, loop.instructions, loop.work) == (WorkKind.LOAD, 4, 3)


def test_an_unrolled_tile_that_loops_call_comes_before_a_loop_of_sums() -> None:
    """The unrolled tile is in one of several functions; loops of other functions add up its
    results."""
    fma, load = MachineInstruction(opcode="vfmadd231ps"), parse_assembly(NESTED)[-5]
    ret = MachineInstruction(opcode="retq")
    tile, sums = [load, fma, fma, fma, ret], [load, load, branch(5), fma, ret]
    loop = hot([*tile, *sums], "cpu")
    assert (loop.kind, loop.unrolled, loop.body) == (WorkKind.FMA, True, range(5))
    assert (loop.work, loop.loads) == (3, 1)


def test_matrix_instructions_come_first() -> None:
    loop = hot([FFMA, FFMA, branch(0), HMMA, branch(3)])
    assert (loop.kind, loop.instructions, loop.work) == (WorkKind.MATRIX, 2, 1)


def test_peeled_products_do_not_hide_a_loop() -> None:
    loop = hot([HMMA, HMMA, FFMA, branch(1), HMMA, HMMA])
    assert (loop.unrolled, loop.instructions, loop.work) == (False, 3, 1)


def test_a_loop_over_shares_does_not_hide_the_one_inside() -> None:
    """In stream-k, an outer loop also has the remainder's products, and a later loop adds up
    parts."""
    shares = [FFMA, HMMA, HMMA, HMMA, branch(1), HMMA, HMMA, FFMA, FFMA, branch(7), branch(0)]
    loop = hot(shares)
    assert (loop.body, loop.work) == (range(1, 5), 3)


def test_a_loop_may_be_all_that_there_is() -> None:
    loop = hot([HMMA, FFMA, branch(0)])
    assert (loop.unrolled, loop.instructions) == (False, 3)


def test_unrolled_matrix_instructions_are_found_without_a_loop() -> None:
    loop = hot([HMMA, FFMA, branch(1)])
    assert (loop.kind, loop.unrolled, loop.instructions, loop.work) == (WorkKind.MATRIX, True, 3, 1)


def test_code_without_loops_has_none() -> None:
    assert find([FFMA], WORDS["cuda"]) is None
    assert find([], WORDS["cuda"]) is None


@pytest.mark.parametrize(
    ("family", "opcode", "kind"),
    [
        ("cuda", "HMMA", WorkKind.MATRIX), ("cuda", "HGMMA", WorkKind.MATRIX),
        ("cuda", "FFMA", WorkKind.FMA), ("cuda", "HFMA2", WorkKind.FMA),
        ("cuda", "IMAD", None), ("cuda", "FADD", None),
        ("cuda", "LDSM", WorkKind.LOAD), ("cuda", "LDGSTS", WorkKind.LOAD), ("cuda", "LDC", None),
        ("cuda", "LDGDEPBAR", None), ("cuda", "STG", None),
        ("amdgpu", "v_mfma_f32_16x16x16_f16", WorkKind.MATRIX),
        ("amdgpu", "v_smfmac_f32_16x16x32_f16", WorkKind.MATRIX),
        ("amdgpu", "v_wmma_f32_16x16x16_f16", WorkKind.MATRIX),
        ("amdgpu", "v_pk_fma_f32", WorkKind.FMA), ("amdgpu", "v_dual_fmac_f32", WorkKind.FMA),
        ("amdgpu", "v_mul_f32", None), ("amdgpu", "ds_read_b128", WorkKind.LOAD),
        ("amdgpu", "global_store_dwordx4", None),
        ("cpu", "tdpbf16ps", WorkKind.MATRIX), ("cpu", "bfmmla", WorkKind.MATRIX),
        ("cpu", "vdpbf16ps", WorkKind.FMA), ("cpu", "vpdpbusd", WorkKind.FMA),
        ("cpu", "fmla", WorkKind.FMA), ("cpu", "vfnmadd231ps", WorkKind.FMA),
        ("cpu", "vmulps", None), ("cpu", "ldr", WorkKind.LOAD),
        ("vulkan", "Fma", WorkKind.FMA),
        ("vulkan", "OpCooperativeMatrixMulAddKHR", WorkKind.MATRIX),
        ("vulkan", "OpLoad", WorkKind.LOAD), ("vulkan", "OpFAdd", None),
    ],
)  # fmt: skip
def test_opcodes(family: str, opcode: str, kind: WorkKind | None) -> None:
    words, ins = WORDS[family], MachineInstruction(opcode=opcode)
    assert next((k for k in WorkKind if words.does(k, ins)), None) == kind


@pytest.mark.parametrize(
    ("opcode", "operands", "is_load"),
    [
        ("vmovups", "(%rax), %ymm1", True), ("vmovups", "%ymm1, (%rax)", False),
        ("vmovups", "%zmm1, 64(%rax) {%k1}", False), ("vmovups", "64(%rax), %zmm1 {%k1}", True),
        ("leaq", "4(%rax), %rcx", False), ("prefetcht0", "(%rax)", False),
        ("tileloadd", "(%rax,%rcx), %tmm0", True), ("vmulps", "%ymm1, %ymm2, %ymm3", False),
    ],
)  # fmt: skip
def test_loads_of_x86(opcode: str, operands: str, is_load: bool) -> None:
    assert WORDS["cpu"].is_load(MachineInstruction(opcode=opcode, operands=operands)) == is_load


@pytest.mark.integration
@pytest.mark.parametrize(
    ("target", "dtype", "opcode"),
    [
        ("sm_80", "f16", "HMMA"),
        ("gfx942", "f16", "v_mfma"),
        ("gfx1100", "f16", "v_wmma"),
        ("x86-64", "f32", "mulps"),
        ("x86-64-v3", "f32", "vfmadd"),
        ("aarch64-neon", "f32", "fmla"),
        ("vulkan1.3", "f32", "Fma"),
    ],
)
def test_loops_that_compilers_make(target: str, dtype: str, opcode: str) -> None:
    spec = kgen.Matmul(m=1024, n=1024, k=4096, dtype=kgen.DType(dtype))
    with opened(kgen.build(spec, targets=[target])) as reader:
        (entry,) = reader.manifest.kernels
        facts = static.facts(reader, entry)
    loop, metrics = facts.loop, facts.metrics
    assert loop is not None and not loop.unrolled and loop.spills == 0
    assert loop.kind is (WorkKind.MATRIX if dtype == "f16" else WorkKind.FMA)
    assert sum(n for name, n in loop.opcodes.items() if name.startswith(opcode)) == loop.work
    assert metrics["hot_loop_instructions"] == loop.instructions
    assert 0 < metrics["matrix_share"] < 1 and metrics["loads_per_matrix"] > 0
    assert loop.mix() in (facts.note("matrix_share") or "")
