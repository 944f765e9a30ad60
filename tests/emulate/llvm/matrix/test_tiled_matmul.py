"""Tiled kernel around matrix instructions: as rendered, optimised, and without a barrier."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault
from tests.emulate.llvm.llvm_kernels import Array, kernel, optimised, run

BARRIER = """fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire"""


def matmul(k: int) -> str:
    """Return D [M, N] = A [M, K] B^T [N, K] in tiles of 32 x 32 for gfx90a: one wave per 16 x
    16, through LDS with rows of 32 + 8 halves."""
    half8 = "<8 x half>"
    return kernel(
        f"""
  %gx = call i32 @llvm.amdgcn.workgroup.id.x()
  %gy = call i32 @llvm.amdgcn.workgroup.id.y()
  %lane = and i32 %t, 63
  %wave = lshr i32 %t, 6
  %is.b = lshr i32 %t, 7
  %copy = and i32 %t, 127
  %copy.row = lshr i32 %copy, 2
  %copy.part = and i32 %copy, 3
  %copy.k = mul i32 %copy.part, 8
  %loads.b = trunc i32 %is.b to i1
  %from = select i1 %loads.b, ptr addrspace(1) %b, ptr addrspace(1) %a
  %tile = select i1 %loads.b, i32 %gx, i32 %gy
  %tile.row = mul i32 %tile, 32
  %row = add i32 %tile.row, %copy.row
  %row.at = mul i32 %row, {k}
  %from.at = add i32 %row.at, %copy.k
  %to.half = mul i32 %is.b, {32 * 40}
  %to.row = mul i32 %copy.row, 40
  %to.sum = add i32 %to.half, %to.row
  %to.at = add i32 %to.sum, %copy.k
  %to = getelementptr half, ptr addrspace(3) @tiles, i32 %to.at
  %wave.m = lshr i32 %wave, 1
  %wave.n = and i32 %wave, 1
  %lane.row = and i32 %lane, 15
  %lane.k = lshr i32 %lane, 4
  %k4 = mul i32 %lane.k, 4
  %m16 = mul i32 %wave.m, 16
  %n16 = mul i32 %wave.n, 16
  %m.row = add i32 %m16, %lane.row
  %n.row = add i32 %n16, %lane.row
  %m.at = mul i32 %m.row, 40
  %n.at = mul i32 %n.row, 40
  %m.k = add i32 %m.at, %k4
  %n.k = add i32 %n.at, %k4
  %a.lds = getelementptr half, ptr addrspace(3) @tiles, i32 %m.k
  %n.half = add i32 %n.k, {32 * 40}
  %b.lds = getelementptr half, ptr addrspace(3) @tiles, i32 %n.half
  br label %loop
loop:
  %kk = phi i32 [ 0, %entry ], [ %kk.next, %loop ]
  %acc = phi <4 x float> [ zeroinitializer, %entry ], [ %acc1, %loop ]
  %next.at = add i32 %from.at, %kk
  %next = getelementptr half, ptr addrspace(1) %from, i32 %next.at
  %value = load {half8}, ptr addrspace(1) %next, align 16
  store {half8} %value, ptr addrspace(3) %to, align 16
  {BARRIER} ; written
  %a0 = load <4 x half>, ptr addrspace(3) %a.lds, align 8
  %b0 = load <4 x half>, ptr addrspace(3) %b.lds, align 8
  %acc0 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(
      <4 x half> %a0, <4 x half> %b0, <4 x float> %acc, i32 0, i32 0, i32 0)
  %a1.at = getelementptr half, ptr addrspace(3) %a.lds, i32 16
  %b1.at = getelementptr half, ptr addrspace(3) %b.lds, i32 16
  %a1 = load <4 x half>, ptr addrspace(3) %a1.at, align 8
  %b1 = load <4 x half>, ptr addrspace(3) %b1.at, align 8
  %acc1 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(
      <4 x half> %a1, <4 x half> %b1, <4 x float> %acc0, i32 0, i32 0, i32 0)
  {BARRIER} ; read
  %kk.next = add i32 %kk, 32
  %more = icmp ult i32 %kk.next, {k}
  br i1 %more, label %loop, label %done
done:
  %width = call i32 @width()
  %r.m = add i32 %m16, %k4
  %ty = mul i32 %gy, 32
  %r.row = add i32 %ty, %r.m
  %tx = mul i32 %gx, 32
  %r.n = add i32 %tx, %n.row
  %r.at = mul i32 %r.row, %width
  %r.first = add i32 %r.at, %r.n
"""
        + "".join(
            f"""
  %d{r} = extractelement <4 x float> %acc1, i32 {r}
  %o{r}.row = mul i32 %width, {r}
  %o{r} = add i32 %r.first, %o{r}.row
  %d{r}.at = getelementptr float, ptr addrspace(1) %d, i32 %o{r}
  store float %d{r}, ptr addrspace(1) %d{r}.at, align 4"""
            for r in range(4)
        )
        + "\n  ret void",
        "ptr addrspace(1) noalias %a, ptr addrspace(1) noalias %b, ptr addrspace(1) noalias %d",
        cpu="gfx90a",
        declarations=f"""
@tiles = internal addrspace(3) global [{2 * 32 * 40} x half] poison, align 16
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.s.barrier()
define internal i32 @width() {{
  ret i32 96
}}
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(
    <4 x half>, <4 x half>, <4 x float>, i32 immarg, i32 immarg, i32 immarg)""",
    )


def product(source: str, k: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    a = rng.integers(-3, 4, (64, k)).astype(np.float16)
    b = rng.integers(-3, 4, (96, k)).astype(np.float16)
    d = np.full((64, 96), np.nan, np.float32)
    run(source, entry="k", grid=(3, 2, 1), block=(256, 1, 1), arguments=[a, b, d])
    return d, a.astype(np.float32) @ b.T.astype(np.float32)


@pytest.mark.parametrize("optimise", [False, True], ids=["rendered", "O3"])
def test_tiled_matmul(optimise: bool) -> None:
    source = optimised(matmul(64), "gfx90a") if optimise else matmul(64)
    got, expected = product(source, 64)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("optimise", [False, True], ids=["rendered", "O3"])
@pytest.mark.parametrize("which", ["written", "read"])
def test_tiled_matmul_without_one_of_its_barriers(which: str, optimise: bool) -> None:
    broken = matmul(64).replace(f"{BARRIER} ; {which}", "")
    source = optimised(broken, "gfx90a") if optimise else broken
    with pytest.raises(EmulationFault) as error:
        product(source, 64)
    assert error.value.fault.kind in ("race", "uninitialised-read")
