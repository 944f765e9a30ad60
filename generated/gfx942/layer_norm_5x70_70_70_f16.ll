; layer_norm_5x70_70_70_f16
;
; computes:  out = layer_norm(x, scale, shift, 1e-05)
; target:    gfx942
; schedule:  mainloop=row,num_threads=128,rows_per_block=8,vector=2,resident=1 (model)
; launch:    1 x 1 x 1 workgroups of 128 threads, waves of 64
; method:    16 threads per row; the row stays in registers
; arguments: x: input f16[5, 70], strides [70, 1]
;            scale: input f16[70], strides [1]
;            shift: input f16[70], strides [1]
;            out: output f16[5, 70], strides [70, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @layer_norm_5x70_70_70_f16(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias readonly %scale.ptr,
    ptr addrspace(1) inreg noalias readonly %shift.ptr,
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

; ---- mainloop: sum = sum(x)
  %x.v0.at = getelementptr [2 x half], ptr addrspace(1) %x.row, i64 %v0.wide
  %x.v0.stored = load <2 x half>, ptr addrspace(1) %x.v0.at, align 2
  %x.v0 = fpext <2 x half> %x.v0.stored to <2 x float>
  %x.v1.at = getelementptr [2 x half], ptr addrspace(1) %x.row, i64 %v1.wide
  %x.v1.stored = load <2 x half>, ptr addrspace(1) %x.v1.at, align 2
  %x.v1 = fpext <2 x half> %x.v1.stored to <2 x float>
  %sum.lane1 = fadd contract <2 x float> %x.v0, %x.v1
  %x.v2.at = getelementptr [2 x half], ptr addrspace(1) %x.row, i64 %v2.wide
  %x.v2.stored = load <2 x half>, ptr addrspace(1) %x.v2.at, align 2
  %x.v2 = fpext <2 x half> %x.v2.stored to <2 x float>
  %sum.chosen = select i1 %v2.exists, <2 x float> %x.v2, <2 x float> splat (float 0x0000000000000000)
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

; ---- mainloop: sum2
  %row1_mul = fmul contract float %row.sum, 0x3F8D41D420000000
  %row1_neg = fneg float %row1_mul
  %row1_neg.splat.lane = insertelement <2 x float> poison, float %row1_neg, i32 0
  %row1_neg.splat = shufflevector <2 x float> %row1_neg.splat.lane, <2 x float> poison, <2 x i32> zeroinitializer
  %sum2.v0_add = fadd contract <2 x float> %x.v0, %row1_neg.splat
  %sum2.v0_mul = fmul contract <2 x float> %sum2.v0_add, %sum2.v0_add
  %sum2.v1_add = fadd contract <2 x float> %x.v1, %row1_neg.splat
  %sum2.v1_mul = fmul contract <2 x float> %sum2.v1_add, %sum2.v1_add
  %sum2.lane1 = fadd contract <2 x float> %sum2.v0_mul, %sum2.v1_mul
  %sum2.v2_add = fadd contract <2 x float> %x.v2, %row1_neg.splat
  %sum2.v2_mul = fmul contract <2 x float> %sum2.v2_add, %sum2.v2_add
  %sum2.chosen = select i1 %v2.exists, <2 x float> %sum2.v2_mul, <2 x float> splat (float 0x0000000000000000)
  %sum2.lane2 = fadd contract <2 x float> %sum2.lane1, %sum2.chosen
  %sum2.by1 = call reassoc float @llvm.vector.reduce.fadd.v2f32(float 0x8000000000000000, <2 x float> %sum2.lane2)
  %sum2.by1.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum2.by1, i32 177, i32 15, i32 15, i1 true) ; quad_perm:[1,0,3,2]
  %sum2.by2 = fadd contract float %sum2.by1, %sum2.by1.other
  %sum2.by2.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum2.by2, i32 78, i32 15, i32 15, i1 true) ; quad_perm:[2,3,0,1]
  %sum2.by4 = fadd contract float %sum2.by2, %sum2.by2.other
  %sum2.by4.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum2.by4, i32 321, i32 15, i32 15, i1 true) ; row_half_mirror
  %sum2.by8 = fadd contract float %sum2.by4, %sum2.by4.other
  %sum2.by8.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum2.by8, i32 320, i32 15, i32 15, i1 true) ; row_mirror
  %row.sum2 = fadd contract float %sum2.by8, %sum2.by8.other

; ---- epilogue: out = layer_norm(x, scale, shift, 1e-05)
  %row2_mul = fmul contract float %row.sum2, 0x3F8D41D420000000
  %row2_add = fadd contract float %row2_mul, 0x3EE4F8B580000000
  %row2_rsqrt.root = call contract float @llvm.sqrt.f32(float %row2_add), !fpmath !9
  %row2_rsqrt = fdiv contract float 0x3FF0000000000000, %row2_rsqrt.root, !fpmath !9
  %row2_rsqrt.splat.lane = insertelement <2 x float> poison, float %row2_rsqrt, i32 0
  %row2_rsqrt.splat = shufflevector <2 x float> %row2_rsqrt.splat.lane, <2 x float> poison, <2 x i32> zeroinitializer
  br i1 %row.exists, label %out.entry, label %exit
out.entry:
  %scale.v0.at = getelementptr [2 x half], ptr addrspace(1) %scale.ptr, i64 %v0.wide
  %scale.v0.stored = load <2 x half>, ptr addrspace(1) %scale.v0.at, align 2
  %scale.v0 = fpext <2 x half> %scale.v0.stored to <2 x float>
  %shift.v0.at = getelementptr [2 x half], ptr addrspace(1) %shift.ptr, i64 %v0.wide
  %shift.v0.stored = load <2 x half>, ptr addrspace(1) %shift.v0.at, align 2
  %shift.v0 = fpext <2 x half> %shift.v0.stored to <2 x float>
  %out.v0_mul = fmul contract <2 x float> %sum2.v0_add, %row2_rsqrt.splat
  %out.v0_mul2 = fmul contract <2 x float> %out.v0_mul, %scale.v0
  %out.v0_add = fadd contract <2 x float> %out.v0_mul2, %shift.v0
  %out.v0.at = getelementptr [2 x half], ptr addrspace(1) %out.row, i64 %v0.wide
  %out.v0.rounded = fptrunc <2 x float> %out.v0_add to <2 x half>
  store <2 x half> %out.v0.rounded, ptr addrspace(1) %out.v0.at, align 2
  %scale.v1.at = getelementptr [2 x half], ptr addrspace(1) %scale.ptr, i64 %v1.wide
  %scale.v1.stored = load <2 x half>, ptr addrspace(1) %scale.v1.at, align 2
  %scale.v1 = fpext <2 x half> %scale.v1.stored to <2 x float>
  %shift.v1.at = getelementptr [2 x half], ptr addrspace(1) %shift.ptr, i64 %v1.wide
  %shift.v1.stored = load <2 x half>, ptr addrspace(1) %shift.v1.at, align 2
  %shift.v1 = fpext <2 x half> %shift.v1.stored to <2 x float>
  %out.v1_mul = fmul contract <2 x float> %sum2.v1_add, %row2_rsqrt.splat
  %out.v1_mul2 = fmul contract <2 x float> %out.v1_mul, %scale.v1
  %out.v1_add = fadd contract <2 x float> %out.v1_mul2, %shift.v1
  %out.v1.at = getelementptr [2 x half], ptr addrspace(1) %out.row, i64 %v1.wide
  %out.v1.rounded = fptrunc <2 x float> %out.v1_add to <2 x half>
  store <2 x half> %out.v1.rounded, ptr addrspace(1) %out.v1.at, align 2
  br i1 %v2.exists, label %out.last, label %exit
out.last:
  %scale.v2.at = getelementptr [2 x half], ptr addrspace(1) %scale.ptr, i64 %v2.wide
  %scale.v2.stored = load <2 x half>, ptr addrspace(1) %scale.v2.at, align 2
  %scale.v2 = fpext <2 x half> %scale.v2.stored to <2 x float>
  %shift.v2.at = getelementptr [2 x half], ptr addrspace(1) %shift.ptr, i64 %v2.wide
  %shift.v2.stored = load <2 x half>, ptr addrspace(1) %shift.v2.at, align 2
  %shift.v2 = fpext <2 x half> %shift.v2.stored to <2 x float>
  %out.v2_mul = fmul contract <2 x float> %sum2.v2_add, %row2_rsqrt.splat
  %out.v2_mul2 = fmul contract <2 x float> %out.v2_mul, %scale.v2
  %out.v2_add = fadd contract <2 x float> %out.v2_mul2, %shift.v2
  %out.v2.at = getelementptr [2 x half], ptr addrspace(1) %out.row, i64 %v2.wide
  %out.v2.rounded = fptrunc <2 x float> %out.v2_add to <2 x half>
  store <2 x half> %out.v2.rounded, ptr addrspace(1) %out.v2.at, align 2

; ---- exit
  br label %exit
exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.sqrt.f32(float)
declare float @llvm.vector.reduce.fadd.v2f32(float, <2 x float>)
declare float @llvm.amdgcn.update.dpp.f32(float, float, i32, i32, i32, i1)

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
!9 = !{float 2.500000e+00}
