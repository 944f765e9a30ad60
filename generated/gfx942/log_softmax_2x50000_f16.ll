; log_softmax_2x50000_f16
;
; computes:  out = log_softmax(x)
; target:    gfx942
; schedule:  mainloop=row,num_threads=1024,rows_per_block=1,vector=8,resident=0 (model)
; launch:    2 x 1 x 1 workgroups of 1024 threads, waves of 64
; method:    1024 threads per row; the row is read 3 times
; memory:    LDS, 128 B
;            @maxnum_parts: f32 [row: 1][wave: 16], 64 B
;            @sum_parts: f32 [row: 1][wave: 16], 64 B
; arguments: x: input f16[2, 50000], strides [50000, 1]
;            out: output f16[2, 50000], strides [50000, 1]

target triple = "amdgcn-amd-amdhsa"

@maxnum_parts = internal addrspace(3) global [1 x [16 x float]] poison, align 16
@sum_parts = internal addrspace(3) global [1 x [16 x float]] poison, align 16

define amdgpu_kernel void @log_softmax_2x50000_f16(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %row.wide = zext i32 %block to i64
  %x.row = getelementptr [50000 x half], ptr addrspace(1) %x.ptr, i64 %row.wide
  %out.row = getelementptr [50000 x half], ptr addrspace(1) %out.ptr, i64 %row.wide
  %lane = and i32 %thread, 63
  %wave_in_row = lshr i32 %thread, 6
  %is_first_lane = icmp eq i32 %lane, 0

; ---- mainloop: maxnum = maxnum(x)
  br label %maxnum.loop
maxnum.loop:
  %maxnum.index = phi i32 [ %thread, %entry ], [ %maxnum.index.next, %maxnum.loop ]
  %maxnum.before = phi <8 x float> [ splat (float 0xFFF0000000000000), %entry ], [ %maxnum.lane, %maxnum.loop ]
  %maxnum.wide = zext i32 %maxnum.index to i64
  %x.maxnum.at = getelementptr [8 x half], ptr addrspace(1) %x.row, i64 %maxnum.wide
  %x.maxnum.stored = load <8 x half>, ptr addrspace(1) %x.maxnum.at, align 2
  %x.maxnum = fpext <8 x half> %x.maxnum.stored to <8 x float>
  %maxnum.lane = call <8 x float> @llvm.maxnum.v8f32(<8 x float> %maxnum.before, <8 x float> %x.maxnum)
  %maxnum.index.next = add nuw nsw i32 %maxnum.index, 1024
  %maxnum.more = icmp ult i32 %maxnum.index.next, 6250
  br i1 %maxnum.more, label %maxnum.loop, label %maxnum.done
maxnum.done:
  %maxnum.by1 = call float @llvm.vector.reduce.fmax.v8f32(<8 x float> %maxnum.lane)
  %maxnum.by1.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by1, i32 177, i32 15, i32 15, i1 true) ; quad_perm:[1,0,3,2]
  %maxnum.by2 = call float @llvm.maxnum.f32(float %maxnum.by1, float %maxnum.by1.other)
  %maxnum.by2.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by2, i32 78, i32 15, i32 15, i1 true) ; quad_perm:[2,3,0,1]
  %maxnum.by4 = call float @llvm.maxnum.f32(float %maxnum.by2, float %maxnum.by2.other)
  %maxnum.by4.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by4, i32 321, i32 15, i32 15, i1 true) ; row_half_mirror
  %maxnum.by8 = call float @llvm.maxnum.f32(float %maxnum.by4, float %maxnum.by4.other)
  %maxnum.by8.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by8, i32 320, i32 15, i32 15, i1 true) ; row_mirror
  %maxnum.by16 = call float @llvm.maxnum.f32(float %maxnum.by8, float %maxnum.by8.other)
  %maxnum.by16.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by16, i32 322, i32 15, i32 15, i1 true) ; row_bcast:15
  %maxnum.by32 = call float @llvm.maxnum.f32(float %maxnum.by16, float %maxnum.by16.other)
  %maxnum.by32.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %maxnum.by32, i32 323, i32 15, i32 15, i1 true) ; row_bcast:31
  %maxnum.by64 = call float @llvm.maxnum.f32(float %maxnum.by32, float %maxnum.by32.other)
  %maxnum.wave = call float @llvm.amdgcn.readlane.f32(float %maxnum.by64, i32 63)
  br i1 %is_first_lane, label %maxnum.share, label %maxnum.shared
maxnum.share:
  %maxnum.part = getelementptr [1 x [16 x float]], ptr addrspace(3) @maxnum_parts, i32 0, i32 0, i32 %wave_in_row
  store float %maxnum.wave, ptr addrspace(3) %maxnum.part, align 4
  br label %maxnum.shared
maxnum.shared:
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %maxnum.parts.at = getelementptr [1 x [16 x float]], ptr addrspace(3) @maxnum_parts, i32 0, i32 0
  %maxnum.parts = load <16 x float>, ptr addrspace(3) %maxnum.parts.at, align 16
  %row.maxnum = call float @llvm.vector.reduce.fmax.v16f32(<16 x float> %maxnum.parts)

; ---- mainloop: sum = sum(exp2((x + neg(maxnum)) * 1.4426950408889634))
  %row1_neg = fneg float %row.maxnum
  %row1_neg.splat.lane = insertelement <8 x float> poison, float %row1_neg, i32 0
  %row1_neg.splat = shufflevector <8 x float> %row1_neg.splat.lane, <8 x float> poison, <8 x i32> zeroinitializer
  br label %sum.loop
sum.loop:
  %sum.index = phi i32 [ %thread, %maxnum.shared ], [ %sum.index.next, %sum.loop ]
  %sum.before = phi <8 x float> [ splat (float 0x0000000000000000), %maxnum.shared ], [ %sum.lane, %sum.loop ]
  %sum.wide = zext i32 %sum.index to i64
  %x.sum.at = getelementptr [8 x half], ptr addrspace(1) %x.row, i64 %sum.wide
  %x.sum.stored = load <8 x half>, ptr addrspace(1) %x.sum.at, align 2
  %x.sum = fpext <8 x half> %x.sum.stored to <8 x float>
  %sum_add = fadd contract <8 x float> %x.sum, %row1_neg.splat
  %sum_mul = fmul contract <8 x float> %sum_add, splat (float 0x3FF7154760000000)
  %sum_exp2 = call <8 x float> @exp2.v8f32(<8 x float> %sum_mul)
  %sum.lane = fadd contract <8 x float> %sum.before, %sum_exp2
  %sum.index.next = add nuw nsw i32 %sum.index, 1024
  %sum.more = icmp ult i32 %sum.index.next, 6250
  br i1 %sum.more, label %sum.loop, label %sum.done
sum.done:
  %sum.by1 = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %sum.lane)
  %sum.by1.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by1, i32 177, i32 15, i32 15, i1 true) ; quad_perm:[1,0,3,2]
  %sum.by2 = fadd contract float %sum.by1, %sum.by1.other
  %sum.by2.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by2, i32 78, i32 15, i32 15, i1 true) ; quad_perm:[2,3,0,1]
  %sum.by4 = fadd contract float %sum.by2, %sum.by2.other
  %sum.by4.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by4, i32 321, i32 15, i32 15, i1 true) ; row_half_mirror
  %sum.by8 = fadd contract float %sum.by4, %sum.by4.other
  %sum.by8.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by8, i32 320, i32 15, i32 15, i1 true) ; row_mirror
  %sum.by16 = fadd contract float %sum.by8, %sum.by8.other
  %sum.by16.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by16, i32 322, i32 15, i32 15, i1 true) ; row_bcast:15
  %sum.by32 = fadd contract float %sum.by16, %sum.by16.other
  %sum.by32.other = call float @llvm.amdgcn.update.dpp.f32(float poison, float %sum.by32, i32 323, i32 15, i32 15, i1 true) ; row_bcast:31
  %sum.by64 = fadd contract float %sum.by32, %sum.by32.other
  %sum.wave = call float @llvm.amdgcn.readlane.f32(float %sum.by64, i32 63)
  br i1 %is_first_lane, label %sum.share, label %sum.shared
sum.share:
  %sum.part = getelementptr [1 x [16 x float]], ptr addrspace(3) @sum_parts, i32 0, i32 0, i32 %wave_in_row
  store float %sum.wave, ptr addrspace(3) %sum.part, align 4
  br label %sum.shared
sum.shared:
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %sum.parts.at = getelementptr [1 x [16 x float]], ptr addrspace(3) @sum_parts, i32 0, i32 0
  %sum.parts = load <16 x float>, ptr addrspace(3) %sum.parts.at, align 16
  %row.sum = call reassoc float @llvm.vector.reduce.fadd.v16f32(float 0x8000000000000000, <16 x float> %sum.parts)

; ---- epilogue: out = log_softmax(x)
  %row2_log2 = call float @llvm.log2.f32(float %row.sum)
  %row2_mul = fmul contract float %row2_log2, 0x3FE62E4300000000
  %row2_neg = fneg float %row2_mul
  %row2_neg.splat.lane = insertelement <8 x float> poison, float %row2_neg, i32 0
  %row2_neg.splat = shufflevector <8 x float> %row2_neg.splat.lane, <8 x float> poison, <8 x i32> zeroinitializer
  br label %out.loop
out.loop:
  %out.index = phi i32 [ %thread, %sum.shared ], [ %out.index.next, %out.loop ]
  %out.wide = zext i32 %out.index to i64
  %x.out.at = getelementptr [8 x half], ptr addrspace(1) %x.row, i64 %out.wide
  %x.out.stored = load <8 x half>, ptr addrspace(1) %x.out.at, align 2
  %x.out = fpext <8 x half> %x.out.stored to <8 x float>
  %out_add = fadd contract <8 x float> %x.out, %row1_neg.splat
  %out_add2 = fadd contract <8 x float> %out_add, %row2_neg.splat
  %out.out.at = getelementptr [8 x half], ptr addrspace(1) %out.row, i64 %out.wide
  %out.out.rounded = fptrunc <8 x float> %out_add2 to <8 x half>
  store <8 x half> %out.out.rounded, ptr addrspace(1) %out.out.at, align 2
  %out.index.next = add nuw nsw i32 %out.index, 1024
  %out.more = icmp ult i32 %out.index.next, 6250
  br i1 %out.more, label %out.loop, label %exit

; ---- exit
exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.amdgcn.exp2.f32(float)
declare float @llvm.log2.f32(float)
declare <8 x float> @llvm.maxnum.v8f32(<8 x float>, <8 x float>)
declare float @llvm.vector.reduce.fmax.v8f32(<8 x float>)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.vector.reduce.fmax.v16f32(<16 x float>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
declare float @llvm.vector.reduce.fadd.v16f32(float, <16 x float>)
declare float @llvm.amdgcn.readlane.f32(float, i32)
declare float @llvm.amdgcn.update.dpp.f32(float, float, i32, i32, i32, i1)
declare void @llvm.amdgcn.s.barrier()

define internal <8 x float> @exp2.v8f32(<8 x float> %x) #1 {
  %x0 = extractelement <8 x float> %x, i32 0
  %exp2.0 = call float @llvm.amdgcn.exp2.f32(float %x0)
  %with.0 = insertelement <8 x float> poison, float %exp2.0, i32 0
  %x1 = extractelement <8 x float> %x, i32 1
  %exp2.1 = call float @llvm.amdgcn.exp2.f32(float %x1)
  %with.1 = insertelement <8 x float> %with.0, float %exp2.1, i32 1
  %x2 = extractelement <8 x float> %x, i32 2
  %exp2.2 = call float @llvm.amdgcn.exp2.f32(float %x2)
  %with.2 = insertelement <8 x float> %with.1, float %exp2.2, i32 2
  %x3 = extractelement <8 x float> %x, i32 3
  %exp2.3 = call float @llvm.amdgcn.exp2.f32(float %x3)
  %with.3 = insertelement <8 x float> %with.2, float %exp2.3, i32 3
  %x4 = extractelement <8 x float> %x, i32 4
  %exp2.4 = call float @llvm.amdgcn.exp2.f32(float %x4)
  %with.4 = insertelement <8 x float> %with.3, float %exp2.4, i32 4
  %x5 = extractelement <8 x float> %x, i32 5
  %exp2.5 = call float @llvm.amdgcn.exp2.f32(float %x5)
  %with.5 = insertelement <8 x float> %with.4, float %exp2.5, i32 5
  %x6 = extractelement <8 x float> %x, i32 6
  %exp2.6 = call float @llvm.amdgcn.exp2.f32(float %x6)
  %with.6 = insertelement <8 x float> %with.5, float %exp2.6, i32 6
  %x7 = extractelement <8 x float> %x, i32 7
  %exp2.7 = call float @llvm.amdgcn.exp2.f32(float %x7)
  %with.7 = insertelement <8 x float> %with.6, float %exp2.7, i32 7
  ret <8 x float> %with.7
}

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="1024,1024"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}
attributes #1 = { alwaysinline nounwind "target-cpu"="gfx942" }

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
; The fences order accesses to LDS, not to global memory.
!1 = !{!"amdgpu-synchronize-as", !"local"}
