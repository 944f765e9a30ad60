"""Fragment maps of the matrix instructions, against the formulas of AMD's calculator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from kgen import targets
from kgen.errors import ScheduleError, TargetError
from kgen.schedule import FmaMatmul, MmaMatmul
from kgen.spec import DType, Math, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu import plan as amdgpu_plan
from kgen.targets.amdgpu.matrix import INSTRUCTIONS, MatrixInstruction, available
from kgen.targets.amdgpu.plan.matmul.dot import DotPlan
from kgen.targets.amdgpu.plan.matmul.mma import MmaPlan

#: Row of D that lane l holds in register r.
RESULT_ROW: dict[str, Callable[[int, int], int]] = {
    "mfma 32": lambda lane, r: 8 * (r // 4) + 4 * (lane // 32) + r % 4,
    "mfma 16": lambda lane, r: 4 * (lane // 16) + r,
    "wmma-gfx11": lambda lane, r: 2 * r + lane // 16,
    "wmma-gfx12": lambda lane, r: 8 * (lane // 16) + r,
    "dot2-f16": lambda lane, r: lane // 8,
    "dot4-i8": lambda lane, r: lane // 8,
}
TARGETS = {t.name: t for t in FAMILY.targets}


def name(i: MatrixInstruction) -> str:
    return f"{i.feature}-{i.m}x{i.n}x{i.k}-{i.dtype}-{i.math}"


def wave(i: MatrixInstruction) -> int:
    return 64 if "mfma" in i.feature else 32


@pytest.mark.parametrize("i", INSTRUCTIONS, ids=name)
def test_result_registers(i: MatrixInstruction) -> None:
    expected = RESULT_ROW[f"mfma {i.m}" if "mfma" in i.feature else i.feature]
    places = []
    for lane, r in product(range(wave(i)), range(i.registers)):
        row = i.register_rows[r] + i.lane_rows * (lane // i.n)
        assert row == expected(lane, r)
        places.append((row, lane % i.n))
    assert sorted(places) == sorted(product(range(i.m), range(i.n)))


@pytest.mark.parametrize("i", INSTRUCTIONS, ids=name)
def test_operands_fill_the_wave(i: MatrixInstruction) -> None:
    copies = i.n if i.by_lane else 2 if i.replicated else 1
    assert i.elements * wave(i) == i.m * i.k * copies
    immediates = (
        1
        if i.by_lane
        else (3 if "mfma" in i.feature else 0) + (3 if "f8f6f4" in i.intrinsic else 0)
    )
    assert i.signature.count("immarg") == (3 if "iu8" in i.intrinsic else immediates)


def plan(target: str, dtype: DType, warp: int) -> MmaPlan:
    spec = Matmul(m=64, n=64, k=256, dtype=dtype)
    schedule = MmaMatmul(block_m=64, block_n=64, block_k=128, warp_m=warp, warp_n=warp)
    made = amdgpu_plan.plan(spec, TARGETS[target], schedule)
    assert isinstance(made, MmaPlan)
    return made


@pytest.mark.parametrize("warp", [16, 32])
@pytest.mark.parametrize(
    ("target", "dtype"),
    [(t.name, d) for t in FAMILY.targets for d in DType if available(t, d)],
    ids=str,
)
def test_fragments_cover_every_row_and_depth_once(target: str, dtype: DType, warp: int) -> None:
    """Lanes, MMA tiles, groups and parts have the template's addresses."""
    p = plan(target, dtype, warp)
    i, seen = p.instruction, []
    groups = [(n,) for n in range(p.num_lines)] if isinstance(p, DotPlan) else p.groups
    for lane, tile, lines in product(range(p.wave), range(p.tiles_m), groups):
        if (i.replicated and lane >= i.m) or (i.by_lane and lane % i.n):
            continue
        lane_row = lane >> p.row_shift if i.by_lane else lane & p.row_mask
        assert lane_row == i.lane_row(lane)
        row = tile * i.m + lane_row
        first = (lane >> p.row_shift) * p.lane_lines
        loaded = [(row, (first + line) * i.slot_k + e) for line in lines for e in range(i.slot_k)]
        for part in p.parts:
            assert len(part) == i.lanes
            seen += [loaded[word * i.packed + e] for word in part for e in range(i.packed)]
    assert sorted(seen) == sorted(product(range(warp), range(p.schedule.block_k)))


def test_bytes_are_multiplied_where_the_instructions_are() -> None:
    has = {t.name: FAMILY.dtypes("matmul", t)[3:] for t in FAMILY.targets}
    assert has == {
        "gfx90a": (DType.S8,),
        "gfx942": (DType.S8, DType.E4M3FNUZ, DType.E5M2FNUZ),
        "gfx950": (DType.S8, DType.E4M3, DType.E5M2),
        "gfx1030": (DType.S8,),
        "gfx1100": (DType.S8,),
        "gfx1201": (DType.S8, DType.E4M3, DType.E5M2),
    }


@pytest.mark.parametrize(
    ("spec", "target", "message"),
    [
        (
            Matmul(m=64, n=64, k=64, dtype=DType.E4M3),
            "gfx942",
            "dtype=e4m3 is not supported by gfx942, whose 8-bit floats have another exponent bias; "
            "try dtype=e4m3fnuz, or for dtype=e4m3 target=gfx950 or gfx1201",
        ),
        (
            Matmul(m=64, n=64, k=64, dtype=DType.E5M2FNUZ),
            "gfx950",
            "dtype=e5m2fnuz is not supported by gfx950, whose 8-bit floats have another exponent "
            "bias; try dtype=e5m2, or for dtype=e5m2fnuz target=gfx942",
        ),
        (
            Matmul(m=64, n=64, k=64, dtype=DType.E5M2),
            "gfx90a",
            "dtype=e5m2 is not supported by gfx90a for matmul; take f32, f16, bf16, s8, "
            "or target=gfx950 or gfx1201",
        ),
        (
            Matmul(m=64, n=64, k=64, dtype=DType.F32, math="tf32"),
            "gfx950",
            "math=tf32 is not supported by gfx950; take exact, or target=gfx942",
        ),
    ],
    ids=["ocp", "fnuz", "none", "math"],
)
def test_types_that_a_processor_lacks(spec: Matmul, target: str, message: str) -> None:
    with pytest.raises(TargetError) as raised:
        FAMILY.check_support(spec, TARGETS[target])
    assert str(raised.value) == message


def test_bytes_are_not_for_multiply_adds() -> None:
    schedule = FmaMatmul(block_m=64, block_n=64, block_k=64, thread_m=4, thread_n=4)
    with pytest.raises(
        ScheduleError,
        match="mainloop=fma multiplies in f32 and does not support dtype=s8; try mainloop=mma",
    ):
        amdgpu_plan.plan(Matmul(m=64, n=64, k=64, dtype=DType.S8), TARGETS["gfx942"], schedule)


def test_what_targets_have() -> None:
    assert not available(TARGETS["gfx1030"], DType.BF16)
    assert not available(TARGETS["gfx1100"], DType.F32)
    assert [FAMILY.maths(t) for t in FAMILY.targets if len(FAMILY.maths(t)) > 1] == [
        (Math.EXACT, Math.TF32)
    ]
    best = {n: available(t, DType.BF16)[0].intrinsic for n, t in TARGETS.items() if n != "gfx1030"}
    assert best == {
        "gfx90a": "llvm.amdgcn.mfma.f32.32x32x8bf16.1k",
        "gfx942": "llvm.amdgcn.mfma.f32.32x32x8bf16.1k",
        "gfx950": "llvm.amdgcn.mfma.f32.32x32x16.bf16",
        "gfx1100": "llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16",
        "gfx1201": "llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v8i16",
    }


@pytest.mark.parametrize(
    ("name", "opcode", "clocks"),
    [
        ("gfx90a", "v_mfma_f32_32x32x8f16", 64),
        ("gfx90a", "v_mfma_i32_16x16x16i8", 32),
        ("gfx942", "v_mfma_f32_32x32x8_f16", 32),
        ("gfx942", "v_mfma_f32_16x16x16_bf16", 16),
        ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 32),
        ("gfx942", "v_mfma_f32_32x32x2_f32", 64),
        ("gfx90a", "v_mfma_f32_16x16x4f32", 32),
        ("gfx942", "v_mfma_f32_32x32x4_xf32", 32),
        ("gfx942", "v_mfma_f32_16x16x8_xf32", 16),
        ("gfx950", "v_mfma_f32_32x32x16_f16", 32),
        ("gfx950", "v_mfma_f32_32x32x8_f16", 32),
        ("gfx950", "v_mfma_f32_16x16x32_fp8_fp8", 16),
        ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", 64),
        ("gfx1100", "v_wmma_f32_16x16x16_f16", 32),
        ("gfx1100", "v_wmma_i32_16x16x16_iu8", 32),
        ("gfx1201", "v_wmma_f32_16x16x16_f16", 16),
        ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", 8),
        ("gfx1201", "v_perm_b32", None),
        ("gfx1030", "v_wmma_f32_16x16x16_f16", None),
    ],
)
def test_matrix_cycles(name: str, opcode: str, clocks: int | None) -> None:
    """The cycles are those of AMD's matrix instruction calculator."""
    assert FAMILY.matrix_cycles(targets.find(name), opcode) == clocks
