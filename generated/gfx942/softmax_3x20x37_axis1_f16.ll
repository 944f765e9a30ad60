; softmax_3x20x37_axis1_f16
;
; computes:  out = softmax(x)
; target:    gfx942
; schedule:  mainloop=row,num_threads=128,rows_per_block=32,vector=1,resident=1 (model)
; launch:    4 x 1 x 1 workgroups of 128 threads, waves of 64
; method:    4 threads per row; the row stays in registers
;            adjacent threads process adjacent rows, which are contiguous in memory
; memory:    LDS, 1024 B
;            @maxnum_parts: f32 [row: 32][thread: 4], 512 B
;            @sum_parts: f32 [row: 32][thread: 4], 512 B
; arguments: x: input f16[3, 20, 37], strides [740, 37, 1]
;            out: output f16[3, 20, 37], strides [740, 37, 1]

target triple = "amdgcn-amd-amdhsa"

@maxnum_parts = internal addrspace(3) global [32 x [4 x float]] poison, align 16
@sum_parts = internal addrspace(3) global [32 x [4 x float]] poison, align 16

define amdgpu_kernel void @softmax_3x20x37_axis1_f16(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %row_in_block = urem i32 %thread, 32
  %first = udiv i32 %thread, 32
  %block.first_row = mul nuw nsw i32 %block, 32
  %row = add nuw nsw i32 %block.first_row, %row_in_block
  ; rows past the last read the last row and store nothing
  %row.exists = icmp ult i32 %row, 111
  %row.read = select i1 %row.exists, i32 %row, i32 110
  %row.wide = zext i32 %row.read to i64
  %row.at0 = udiv i64 %row.wide, 37
  %row.at1 = urem i64 %row.wide, 37
  %x.row0 = getelementptr [740 x half], ptr addrspace(1) %x.ptr, i64 %row.at0
  %x.row = getelementptr half, ptr addrspace(1) %x.row0, i64 %row.at1
  %out.row0 = getelementptr [740 x half], ptr addrspace(1) %out.ptr, i64 %row.at0
  %out.row = getelementptr half, ptr addrspace(1) %out.row0, i64 %row.at1
  %v0.wide = zext i32 %first to i64
  %v1.index = add nuw nsw i32 %first, 4
  %v1.wide = zext i32 %v1.index to i64
  %v2.index = add nuw nsw i32 %first, 8
  %v2.wide = zext i32 %v2.index to i64
  %v3.index = add nuw nsw i32 %first, 12
  %v3.wide = zext i32 %v3.index to i64
  %v4.index = add nuw nsw i32 %first, 16
  %v4.wide = zext i32 %v4.index to i64

; ---- mainloop: maxnum = maxnum(x)
  %x.v0.at = getelementptr [37 x half], ptr addrspace(1) %x.row, i64 %v0.wide
  %x.v0.stored = load half, ptr addrspace(1) %x.v0.at, align 2
  %x.v0 = fpext half %x.v0.stored to float
  %x.v1.at = getelementptr [37 x half], ptr addrspace(1) %x.row, i64 %v1.wide
  %x.v1.stored = load half, ptr addrspace(1) %x.v1.at, align 2
  %x.v1 = fpext half %x.v1.stored to float
  %maxnum.lane1 = call float @llvm.maxnum.f32(float %x.v0, float %x.v1)
  %x.v2.at = getelementptr [37 x half], ptr addrspace(1) %x.row, i64 %v2.wide
  %x.v2.stored = load half, ptr addrspace(1) %x.v2.at, align 2
  %x.v2 = fpext half %x.v2.stored to float
  %maxnum.lane2 = call float @llvm.maxnum.f32(float %maxnum.lane1, float %x.v2)
  %x.v3.at = getelementptr [37 x half], ptr addrspace(1) %x.row, i64 %v3.wide
  %x.v3.stored = load half, ptr addrspace(1) %x.v3.at, align 2
  %x.v3 = fpext half %x.v3.stored to float
  %maxnum.lane3 = call float @llvm.maxnum.f32(float %maxnum.lane2, float %x.v3)
  %x.v4.at = getelementptr [37 x half], ptr addrspace(1) %x.row, i64 %v4.wide
  %x.v4.stored = load half, ptr addrspace(1) %x.v4.at, align 2
  %x.v4 = fpext half %x.v4.stored to float
  %maxnum.lane4 = call float @llvm.maxnum.f32(float %maxnum.lane3, float %x.v4)
  %maxnum.part = getelementptr [32 x [4 x float]], ptr addrspace(3) @maxnum_parts, i32 0, i32 %row_in_block, i32 %first
  store float %maxnum.lane4, ptr addrspace(3) %maxnum.part, align 4
  br label %maxnum.shared
maxnum.shared:
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %maxnum.parts.at = getelementptr [32 x [4 x float]], ptr addrspace(3) @maxnum_parts, i32 0, i32 %row_in_block
  %maxnum.parts = load <4 x float>, ptr addrspace(3) %maxnum.parts.at, align 16
  %row.maxnum = call float @llvm.vector.reduce.fmax.v4f32(<4 x float> %maxnum.parts)

; ---- mainloop: sum = sum(exp2((x + neg(maxnum)) * 1.4426950408889634))
  %row1_neg = fneg float %row.maxnum
  %sum.v0_add = fadd contract float %x.v0, %row1_neg
  %sum.v0_mul = fmul contract float %sum.v0_add, 0x3FF7154760000000
  %sum.v0_exp2 = call float @llvm.amdgcn.exp2.f32(float %sum.v0_mul)
  %sum.v1_add = fadd contract float %x.v1, %row1_neg
  %sum.v1_mul = fmul contract float %sum.v1_add, 0x3FF7154760000000
  %sum.v1_exp2 = call float @llvm.amdgcn.exp2.f32(float %sum.v1_mul)
  %sum.lane1 = fadd contract float %sum.v0_exp2, %sum.v1_exp2
  %sum.v2_add = fadd contract float %x.v2, %row1_neg
  %sum.v2_mul = fmul contract float %sum.v2_add, 0x3FF7154760000000
  %sum.v2_exp2 = call float @llvm.amdgcn.exp2.f32(float %sum.v2_mul)
  %sum.lane2 = fadd contract float %sum.lane1, %sum.v2_exp2
  %sum.v3_add = fadd contract float %x.v3, %row1_neg
  %sum.v3_mul = fmul contract float %sum.v3_add, 0x3FF7154760000000
  %sum.v3_exp2 = call float @llvm.amdgcn.exp2.f32(float %sum.v3_mul)
  %sum.lane3 = fadd contract float %sum.lane2, %sum.v3_exp2
  %sum.v4_add = fadd contract float %x.v4, %row1_neg
  %sum.v4_mul = fmul contract float %sum.v4_add, 0x3FF7154760000000
  %sum.v4_exp2 = call float @llvm.amdgcn.exp2.f32(float %sum.v4_mul)
  %sum.lane4 = fadd contract float %sum.lane3, %sum.v4_exp2
  %sum.part = getelementptr [32 x [4 x float]], ptr addrspace(3) @sum_parts, i32 0, i32 %row_in_block, i32 %first
  store float %sum.lane4, ptr addrspace(3) %sum.part, align 4
  br label %sum.shared
sum.shared:
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %sum.parts.at = getelementptr [32 x [4 x float]], ptr addrspace(3) @sum_parts, i32 0, i32 %row_in_block
  %sum.parts = load <4 x float>, ptr addrspace(3) %sum.parts.at, align 16
  %row.sum = call reassoc float @llvm.vector.reduce.fadd.v4f32(float 0x8000000000000000, <4 x float> %sum.parts)

; ---- epilogue: out = softmax(x)
  %row2_reciprocal = fdiv afn float 0x3FF0000000000000, %row.sum
  br i1 %row.exists, label %out.entry, label %exit
out.entry:
  %out.v0_mul = fmul contract float %sum.v0_exp2, %row2_reciprocal
  %out.v0.at = getelementptr [37 x half], ptr addrspace(1) %out.row, i64 %v0.wide
  %out.v0.rounded = fptrunc float %out.v0_mul to half
  store half %out.v0.rounded, ptr addrspace(1) %out.v0.at, align 2
  %out.v1_mul = fmul contract float %sum.v1_exp2, %row2_reciprocal
  %out.v1.at = getelementptr [37 x half], ptr addrspace(1) %out.row, i64 %v1.wide
  %out.v1.rounded = fptrunc float %out.v1_mul to half
  store half %out.v1.rounded, ptr addrspace(1) %out.v1.at, align 2
  %out.v2_mul = fmul contract float %sum.v2_exp2, %row2_reciprocal
  %out.v2.at = getelementptr [37 x half], ptr addrspace(1) %out.row, i64 %v2.wide
  %out.v2.rounded = fptrunc float %out.v2_mul to half
  store half %out.v2.rounded, ptr addrspace(1) %out.v2.at, align 2
  %out.v3_mul = fmul contract float %sum.v3_exp2, %row2_reciprocal
  %out.v3.at = getelementptr [37 x half], ptr addrspace(1) %out.row, i64 %v3.wide
  %out.v3.rounded = fptrunc float %out.v3_mul to half
  store half %out.v3.rounded, ptr addrspace(1) %out.v3.at, align 2
  %out.v4_mul = fmul contract float %sum.v4_exp2, %row2_reciprocal
  %out.v4.at = getelementptr [37 x half], ptr addrspace(1) %out.row, i64 %v4.wide
  %out.v4.rounded = fptrunc float %out.v4_mul to half
  store half %out.v4.rounded, ptr addrspace(1) %out.v4.at, align 2

; ---- exit
  br label %exit
exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.amdgcn.exp2.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.vector.reduce.fmax.v4f32(<4 x float>)
declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)
declare void @llvm.amdgcn.s.barrier()

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="128,128"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
; The fences order accesses to LDS, not to global memory.
!1 = !{!"amdgpu-synchronize-as", !"local"}
