; add_rms_norm_5x24_f16
;
; computes:  h = x + residual; out = rms_norm(h, w, 1e-05)
; target:    gfx942
; schedule:  mainloop=row,num_threads=32,rows_per_block=8,vector=8,resident=1 (model)
; launch:    1 x 1 x 1 workgroups of 32 threads, waves of 64
; method:    4 threads per row; the row stays in registers
; arguments: x: input f16[5, 24], strides [24, 1]
;            residual: input f16[5, 24], strides [24, 1]
;            w: input f16[24], strides [1]
;            h: output f16[5, 24], strides [24, 1]
;            out: output f16[5, 24], strides [24, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @add_rms_norm_5x24_f16(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias readonly %residual.ptr,
    ptr addrspace(1) inreg noalias readonly %w.ptr,
    ptr addrspace(1) inreg noalias writeonly %h.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 32) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %row_in_block = udiv i32 %thread, 4
  %first = urem i32 %thread, 4
  %block.first_row = mul nuw nsw i32 %block, 8
  %row = add nuw nsw i32 %block.first_row, %row_in_block
  ; rows past the last read the last row and store nothing
  %row.exists = icmp ult i32 %row, 5
  %row.read = select i1 %row.exists, i32 %row, i32 4
  %row.wide = zext i32 %row.read to i64
  %x.row = getelementptr [24 x half], ptr addrspace(1) %x.ptr, i64 %row.wide
  %residual.row = getelementptr [24 x half], ptr addrspace(1) %residual.ptr, i64 %row.wide
  %h.row = getelementptr [24 x half], ptr addrspace(1) %h.ptr, i64 %row.wide
  %out.row = getelementptr [24 x half], ptr addrspace(1) %out.ptr, i64 %row.wide
  ; the last vector of the row; lanes without one use the first vector, whose values are not folded
  %v0.exists = icmp ult i32 %first, 3
  %v0.index = select i1 %v0.exists, i32 %first, i32 0
  %v0.wide = zext i32 %v0.index to i64

; ---- mainloop: sum = sum((x + residual) * (x + residual))
  %x.v0.at = getelementptr [8 x half], ptr addrspace(1) %x.row, i64 %v0.wide
  %x.v0.stored = load <8 x half>, ptr addrspace(1) %x.v0.at, align 2
  %x.v0 = fpext <8 x half> %x.v0.stored to <8 x float>
  %residual.v0.at = getelementptr [8 x half], ptr addrspace(1) %residual.row, i64 %v0.wide
  %residual.v0.stored = load <8 x half>, ptr addrspace(1) %residual.v0.at, align 2
  %residual.v0 = fpext <8 x half> %residual.v0.stored to <8 x float>
  %sum.v0_add = fadd contract <8 x float> %x.v0, %residual.v0
  %sum.v0_mul = fmul contract <8 x float> %sum.v0_add, %sum.v0_add
  %sum.chosen = select i1 %v0.exists, <8 x float> %sum.v0_mul, <8 x float> splat (float 0x0000000000000000)
  %sum.by1 = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %sum.chosen)
  %sum.by1.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by1, i32 177, i32 15, i32 15, i1 true) ; quad_perm:[1,0,3,2]
  %sum.by2 = fadd contract float %sum.by1, %sum.by1.other
  %sum.by2.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by2, i32 78, i32 15, i32 15, i1 true) ; quad_perm:[2,3,0,1]
  %row.sum = fadd contract float %sum.by2, %sum.by2.other

; ---- epilogue: h = x + residual; out = rms_norm(h, w, 1e-05)
  %row1_mul = fmul contract float %row.sum, 0x3FA5555560000000
  %row1_add = fadd contract float %row1_mul, 0x3EE4F8B580000000
  %row1_rsqrt.root = call contract float @llvm.sqrt.f32(float %row1_add), !fpmath !9
  %row1_rsqrt = fdiv contract float 0x3FF0000000000000, %row1_rsqrt.root, !fpmath !9
  %row1_rsqrt.splat.lane = insertelement <8 x float> poison, float %row1_rsqrt, i32 0
  %row1_rsqrt.splat = shufflevector <8 x float> %row1_rsqrt.splat.lane, <8 x float> poison, <8 x i32> zeroinitializer
  br i1 %row.exists, label %out.entry, label %exit
out.entry:
  br i1 %v0.exists, label %out.last, label %exit
out.last:
  %w.v0.at = getelementptr [8 x half], ptr addrspace(1) %w.ptr, i64 %v0.wide
  %w.v0.stored = load <8 x half>, ptr addrspace(1) %w.v0.at, align 2
  %w.v0 = fpext <8 x half> %w.v0.stored to <8 x float>
  %out.v0_mul = fmul contract <8 x float> %sum.v0_add, %row1_rsqrt.splat
  %out.v0_mul2 = fmul contract <8 x float> %out.v0_mul, %w.v0
  %h.v0.at = getelementptr [8 x half], ptr addrspace(1) %h.row, i64 %v0.wide
  %h.v0.rounded = fptrunc <8 x float> %sum.v0_add to <8 x half>
  store <8 x half> %h.v0.rounded, ptr addrspace(1) %h.v0.at, align 2
  %out.v0.at = getelementptr [8 x half], ptr addrspace(1) %out.row, i64 %v0.wide
  %out.v0.rounded = fptrunc <8 x float> %out.v0_mul2 to <8 x half>
  store <8 x half> %out.v0.rounded, ptr addrspace(1) %out.v0.at, align 2

; ---- exit
  br label %exit
exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.sqrt.f32(float)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
declare float @llvm.amdgcn.update.dpp.f32(float, float, i32, i32, i32, i1)

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="32,32"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!9 = !{float 2.500000e+00}
