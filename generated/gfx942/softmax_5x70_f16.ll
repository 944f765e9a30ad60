; softmax_5x70_f16
;
; computes:  out = softmax(x)
; target:    gfx942
; schedule:  mainloop=row,num_threads=128,rows_per_block=8,vector=2,resident=1 (model)
; launch:    1 x 1 x 1 workgroups of 128 threads, waves of 64
; method:    16 threads per row; the row stays in registers
; arguments: x: input f16[5, 70], strides [70, 1]
;            out: output f16[5, 70], strides [70, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @softmax_5x70_f16(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %row_in_block = udiv i32 %thread, 16
  %first = urem i32 %thread, 16
  %block.first_row = mul nuw nsw i32 %block, 8
  %row = add nuw nsw i32 %block.first_row, %row_in_block
  ; rows past the last read the last row and store nothing
  %row.exists = icmp ult i32 %row, 5
  %row.read = select i1 %row.exists, i32 %row, i32 4
  %row.wide = zext i32 %row.read to i64
  %x.row = getelementptr [70 x half], ptr addrspace(1) %x.ptr, i64 %row.wide
  %out.row = getelementptr [70 x half], ptr addrspace(1) %out.ptr, i64 %row.wide
  %v0.wide = zext i32 %first to i64
  %v1.index = add nuw nsw i32 %first, 16
  %v1.wide = zext i32 %v1.index to i64
  ; the last vector of the row; lanes without one use the first vector, whose values are not folded
  %v2.number = add nuw nsw i32 %first, 32
  %v2.exists = icmp ult i32 %v2.number, 35
  %v2.index = select i1 %v2.exists, i32 %v2.number, i32 0
  %v2.wide = zext i32 %v2.index to i64

; ---- mainloop: maxnum = maxnum(x)
  %x.v0.at = getelementptr [2 x half], ptr addrspace(1) %x.row, i64 %v0.wide
  %x.v0.stored = load <2 x half>, ptr addrspace(1) %x.v0.at, align 2
  %x.v0 = fpext <2 x half> %x.v0.stored to <2 x float>
  %x.v1.at = getelementptr [2 x half], ptr addrspace(1) %x.row, i64 %v1.wide
  %x.v1.stored = load <2 x half>, ptr addrspace(1) %x.v1.at, align 2
  %x.v1 = fpext <2 x half> %x.v1.stored to <2 x float>
  %maxnum.lane1 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %x.v0, <2 x float> %x.v1)
  %x.v2.at = getelementptr [2 x half], ptr addrspace(1) %x.row, i64 %v2.wide
  %x.v2.stored = load <2 x half>, ptr addrspace(1) %x.v2.at, align 2
  %x.v2 = fpext <2 x half> %x.v2.stored to <2 x float>
  %maxnum.chosen = select i1 %v2.exists, <2 x float> %x.v2, <2 x float> splat (float 0xFFF0000000000000)
  %maxnum.lane2 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %maxnum.lane1, <2 x float> %maxnum.chosen)
  %maxnum.by1 = call float @llvm.vector.reduce.fmax.v2f32(<2 x float> %maxnum.lane2)
  %maxnum.by1.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by1, i32 177, i32 15, i32 15, i1 true) ; quad_perm:[1,0,3,2]
  %maxnum.by2 = call float @llvm.maxnum.f32(float %maxnum.by1, float %maxnum.by1.other)
  %maxnum.by2.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by2, i32 78, i32 15, i32 15, i1 true) ; quad_perm:[2,3,0,1]
  %maxnum.by4 = call float @llvm.maxnum.f32(float %maxnum.by2, float %maxnum.by2.other)
  %maxnum.by4.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by4, i32 321, i32 15, i32 15, i1 true) ; row_half_mirror
  %maxnum.by8 = call float @llvm.maxnum.f32(float %maxnum.by4, float %maxnum.by4.other)
  %maxnum.by8.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by8, i32 320, i32 15, i32 15, i1 true) ; row_mirror
  %row.maxnum = call float @llvm.maxnum.f32(float %maxnum.by8, float %maxnum.by8.other)

; ---- mainloop: sum = sum(exp2((x + neg(maxnum)) * 1.4426950408889634))
  %row1_neg = fneg float %row.maxnum
  %row1_neg.splat.lane = insertelement <2 x float> poison, float %row1_neg, i32 0
  %row1_neg.splat = shufflevector <2 x float> %row1_neg.splat.lane, <2 x float> poison, <2 x i32> zeroinitializer
  %sum.v0_add = fadd contract <2 x float> %x.v0, %row1_neg.splat
  %sum.v0_mul = fmul contract <2 x float> %sum.v0_add, splat (float 0x3FF7154760000000)
  %sum.v0_exp2 = call <2 x float> @exp2.v2f32(<2 x float> %sum.v0_mul)
  %sum.v1_add = fadd contract <2 x float> %x.v1, %row1_neg.splat
  %sum.v1_mul = fmul contract <2 x float> %sum.v1_add, splat (float 0x3FF7154760000000)
  %sum.v1_exp2 = call <2 x float> @exp2.v2f32(<2 x float> %sum.v1_mul)
  %sum.lane1 = fadd contract <2 x float> %sum.v0_exp2, %sum.v1_exp2
  %sum.v2_add = fadd contract <2 x float> %x.v2, %row1_neg.splat
  %sum.v2_mul = fmul contract <2 x float> %sum.v2_add, splat (float 0x3FF7154760000000)
  %sum.v2_exp2 = call <2 x float> @exp2.v2f32(<2 x float> %sum.v2_mul)
  %sum.chosen = select i1 %v2.exists, <2 x float> %sum.v2_exp2, <2 x float> splat (float 0x0000000000000000)
  %sum.lane2 = fadd contract <2 x float> %sum.lane1, %sum.chosen
  %sum.by1 = call reassoc float @llvm.vector.reduce.fadd.v2f32(float 0x8000000000000000, <2 x float> %sum.lane2)
  %sum.by1.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by1, i32 177, i32 15, i32 15, i1 true) ; quad_perm:[1,0,3,2]
  %sum.by2 = fadd contract float %sum.by1, %sum.by1.other
  %sum.by2.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by2, i32 78, i32 15, i32 15, i1 true) ; quad_perm:[2,3,0,1]
  %sum.by4 = fadd contract float %sum.by2, %sum.by2.other
  %sum.by4.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by4, i32 321, i32 15, i32 15, i1 true) ; row_half_mirror
  %sum.by8 = fadd contract float %sum.by4, %sum.by4.other
  %sum.by8.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by8, i32 320, i32 15, i32 15, i1 true) ; row_mirror
  %row.sum = fadd contract float %sum.by8, %sum.by8.other

; ---- epilogue: out = softmax(x)
  %row2_reciprocal = fdiv afn float 0x3FF0000000000000, %row.sum
  %row2_reciprocal.splat.lane = insertelement <2 x float> poison, float %row2_reciprocal, i32 0
  %row2_reciprocal.splat = shufflevector <2 x float> %row2_reciprocal.splat.lane, <2 x float> poison, <2 x i32> zeroinitializer
  br i1 %row.exists, label %out.entry, label %exit
out.entry:
  %out.v0_mul = fmul contract <2 x float> %sum.v0_exp2, %row2_reciprocal.splat
  %out.v0.at = getelementptr [2 x half], ptr addrspace(1) %out.row, i64 %v0.wide
  %out.v0.rounded = fptrunc <2 x float> %out.v0_mul to <2 x half>
  store <2 x half> %out.v0.rounded, ptr addrspace(1) %out.v0.at, align 2
  %out.v1_mul = fmul contract <2 x float> %sum.v1_exp2, %row2_reciprocal.splat
  %out.v1.at = getelementptr [2 x half], ptr addrspace(1) %out.row, i64 %v1.wide
  %out.v1.rounded = fptrunc <2 x float> %out.v1_mul to <2 x half>
  store <2 x half> %out.v1.rounded, ptr addrspace(1) %out.v1.at, align 2
  br i1 %v2.exists, label %out.last, label %exit
out.last:
  %out.v2_mul = fmul contract <2 x float> %sum.v2_exp2, %row2_reciprocal.splat
  %out.v2.at = getelementptr [2 x half], ptr addrspace(1) %out.row, i64 %v2.wide
  %out.v2.rounded = fptrunc <2 x float> %out.v2_mul to <2 x half>
  store <2 x half> %out.v2.rounded, ptr addrspace(1) %out.v2.at, align 2

; ---- exit
  br label %exit
exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.amdgcn.exp2.f32(float)
declare <2 x float> @llvm.maxnum.v2f32(<2 x float>, <2 x float>)
declare float @llvm.vector.reduce.fmax.v2f32(<2 x float>)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.vector.reduce.fadd.v2f32(float, <2 x float>)
declare float @llvm.amdgcn.update.dpp.f32(float, float, i32, i32, i32, i1)

define internal <2 x float> @exp2.v2f32(<2 x float> %x) #1 {
  %x0 = extractelement <2 x float> %x, i32 0
  %exp2.0 = call float @llvm.amdgcn.exp2.f32(float %x0)
  %with.0 = insertelement <2 x float> poison, float %exp2.0, i32 0
  %x1 = extractelement <2 x float> %x, i32 1
  %exp2.1 = call float @llvm.amdgcn.exp2.f32(float %x1)
  %with.1 = insertelement <2 x float> %with.0, float %exp2.1, i32 1
  ret <2 x float> %with.1
}

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="128,128"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}
attributes #1 = { alwaysinline nounwind "target-cpu"="gfx942" }

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
