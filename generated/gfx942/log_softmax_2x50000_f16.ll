; log_softmax_2x50000_f16 for gfx942
;
; out = x - max(x) - log(sum(exp(x - max(x)))), row by row
;   x         input  f16, 2 x 50000 elements, strides 50000, 1
;   out       output f16, 2 x 50000 elements, strides 50000, 1
;
; schedule: mainloop=row,num_threads=1024,rows_per_block=1,vector=8,resident=0 (model)
; launch:   2 x 1 x 1 workgroups of 1024 threads (waves of 64)
; LDS:      @max_parts and @sum_parts, 64 B each of f32: [row][wave]
target triple = "amdgcn-amd-amdhsa"

@max_parts = internal addrspace(3) global [1 x [16 x float]] poison, align 16
@sum_parts = internal addrspace(3) global [1 x [16 x float]] poison, align 16

define amdgpu_kernel void @log_softmax_2x50000_f16(
    ptr addrspace(1) noalias readonly %x,
    ptr addrspace(1) noalias writeonly %out
) #0 {

; ---- addresses ---------------------------------------------------------------------------------
entry:
  %thread = call range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %lane = and i32 %thread, 63
  %row_in_block = udiv i32 %thread, 1024
  %in_row = urem i32 %thread, 1024
  %first_column = mul nuw nsw i32 %in_row, 8
  %block.first_row = mul nuw nsw i32 %block, 1
  %row = add nuw nsw i32 %block.first_row, %row_in_block
  %row.wide = zext i32 %row to i64
  %row.offset = mul nuw nsw i64 %row.wide, 50000
  %x.row = getelementptr half, ptr addrspace(1) %x, i64 %row.offset
  %out.row = getelementptr half, ptr addrspace(1) %out, i64 %row.offset
  %wave_in_row = lshr i32 %in_row, 6
  %is_first_lane = icmp eq i32 %lane, 0
  ; the lanes to exchange with, as ds_bpermute wants them: in bytes
  %lane.by1 = xor i32 %lane, 1
  %lane.by1.bytes = shl nuw nsw i32 %lane.by1, 2
  %lane.by2 = xor i32 %lane, 2
  %lane.by2.bytes = shl nuw nsw i32 %lane.by2, 2
  %lane.by4 = xor i32 %lane, 4
  %lane.by4.bytes = shl nuw nsw i32 %lane.by4, 2
  %lane.by8 = xor i32 %lane, 8
  %lane.by8.bytes = shl nuw nsw i32 %lane.by8, 2
  %lane.by16 = xor i32 %lane, 16
  %lane.by16.bytes = shl nuw nsw i32 %lane.by16, 2
  %lane.by32 = xor i32 %lane, 32
  %lane.by32.bytes = shl nuw nsw i32 %lane.by32, 2

; ---- prologue: the row's maximum ---------------------------------------------------------------
  br label %max.entry
max.entry:
  br label %max.loop
max.loop:
  %max.column = phi i32 [ %first_column, %max.entry ], [ %max.column.next, %max.loop ]
  %max.before = phi <8 x float> [ splat (float 0xFFF0000000000000), %max.entry ], [ %max.so_far, %max.loop ]
  %max.x.offset = zext i32 %max.column to i64
  %max.x.from = getelementptr half, ptr addrspace(1) %x.row, i64 %max.x.offset
  %max.x.stored = load <8 x half>, ptr addrspace(1) %max.x.from, align 2
  %max.x = fpext <8 x half> %max.x.stored to <8 x float>
  %max.so_far = call <8 x float> @llvm.maxnum.v8f32(<8 x float> %max.before, <8 x float> %max.x)
  %max.column.next = add nuw nsw i32 %max.column, 8192
  %max.more = icmp ult i32 %max.column.next, 49152
  br i1 %max.more, label %max.loop, label %max.rest
max.rest:
  %max.rest.column = add nuw nsw i32 %first_column, 49152
  %max.rest.x.exists = icmp ult i32 %max.rest.column, 50000
  %max.rest.x.column = select i1 %max.rest.x.exists, i32 %max.rest.column, i32 0
  %max.rest.x.offset = zext i32 %max.rest.x.column to i64
  %max.rest.x.from = getelementptr half, ptr addrspace(1) %x.row, i64 %max.rest.x.offset
  %max.rest.x.stored = load <8 x half>, ptr addrspace(1) %max.rest.x.from, align 2
  %max.rest.x.read = fpext <8 x half> %max.rest.x.stored to <8 x float>
  %max.rest.x = select i1 %max.rest.x.exists, <8 x float> %max.rest.x.read, <8 x float> splat (float 0xFFF0000000000000)
  %max.all = call <8 x float> @llvm.maxnum.v8f32(<8 x float> %max.so_far, <8 x float> %max.rest.x)
  %max.by1 = call float @llvm.vector.reduce.fmax.v8f32(<8 x float> %max.all)
  %max.by1.bits = bitcast float %max.by1 to i32
  %max.by1.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by1.bytes, i32 %max.by1.bits)
  %max.by1.other = bitcast i32 %max.by1.other.bits to float
  %max.by2 = call float @llvm.maxnum.f32(float %max.by1, float %max.by1.other)
  %max.by2.bits = bitcast float %max.by2 to i32
  %max.by2.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by2.bytes, i32 %max.by2.bits)
  %max.by2.other = bitcast i32 %max.by2.other.bits to float
  %max.by4 = call float @llvm.maxnum.f32(float %max.by2, float %max.by2.other)
  %max.by4.bits = bitcast float %max.by4 to i32
  %max.by4.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by4.bytes, i32 %max.by4.bits)
  %max.by4.other = bitcast i32 %max.by4.other.bits to float
  %max.by8 = call float @llvm.maxnum.f32(float %max.by4, float %max.by4.other)
  %max.by8.bits = bitcast float %max.by8 to i32
  %max.by8.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by8.bytes, i32 %max.by8.bits)
  %max.by8.other = bitcast i32 %max.by8.other.bits to float
  %max.by16 = call float @llvm.maxnum.f32(float %max.by8, float %max.by8.other)
  %max.by16.bits = bitcast float %max.by16 to i32
  %max.by16.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by16.bytes, i32 %max.by16.bits)
  %max.by16.other = bitcast i32 %max.by16.other.bits to float
  %max.by32 = call float @llvm.maxnum.f32(float %max.by16, float %max.by16.other)
  %max.by32.bits = bitcast float %max.by32 to i32
  %max.by32.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by32.bytes, i32 %max.by32.bits)
  %max.by32.other = bitcast i32 %max.by32.other.bits to float
  %max.by64 = call float @llvm.maxnum.f32(float %max.by32, float %max.by32.other)
  br i1 %is_first_lane, label %max.share, label %max.shared
max.share:
  %max.part = getelementptr [1 x [16 x float]], ptr addrspace(3) @max_parts, i32 0, i32 %row_in_block, i32 %wave_in_row
  store float %max.by64, ptr addrspace(3) %max.part, align 4
  br label %max.shared
max.shared:
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %max.parts.at = getelementptr [1 x [16 x float]], ptr addrspace(3) @max_parts, i32 0, i32 %row_in_block
  %max.parts = load <16 x float>, ptr addrspace(3) %max.parts.at, align 16
  %max = call float @llvm.vector.reduce.fmax.v16f32(<16 x float> %max.parts)
  %max.first = insertelement <8 x float> poison, float %max, i32 0
  %max.splat = shufflevector <8 x float> %max.first, <8 x float> poison, <8 x i32> zeroinitializer

; ---- mainloop: the sum of exponentials ---------------------------------------------------------
  br label %sum.entry
sum.entry:
  br label %sum.loop
sum.loop:
  %sum.column = phi i32 [ %first_column, %sum.entry ], [ %sum.column.next, %sum.loop ]
  %sum.before = phi <8 x float> [ zeroinitializer, %sum.entry ], [ %sum.so_far, %sum.loop ]
  %sum.x.offset = zext i32 %sum.column to i64
  %sum.x.from = getelementptr half, ptr addrspace(1) %x.row, i64 %sum.x.offset
  %sum.x.stored = load <8 x half>, ptr addrspace(1) %sum.x.from, align 2
  %sum.x = fpext <8 x half> %sum.x.stored to <8 x float>
  %sum.so_far.shifted = fsub <8 x float> %sum.x, %max.splat
  %sum.so_far.exp = call <8 x float> @llvm.exp.v8f32(<8 x float> %sum.so_far.shifted)
  %sum.so_far = fadd <8 x float> %sum.before, %sum.so_far.exp
  %sum.column.next = add nuw nsw i32 %sum.column, 8192
  %sum.more = icmp ult i32 %sum.column.next, 49152
  br i1 %sum.more, label %sum.loop, label %sum.rest
sum.rest:
  %sum.rest.column = add nuw nsw i32 %first_column, 49152
  %sum.rest.x.exists = icmp ult i32 %sum.rest.column, 50000
  %sum.rest.x.column = select i1 %sum.rest.x.exists, i32 %sum.rest.column, i32 0
  %sum.rest.x.offset = zext i32 %sum.rest.x.column to i64
  %sum.rest.x.from = getelementptr half, ptr addrspace(1) %x.row, i64 %sum.rest.x.offset
  %sum.rest.x.stored = load <8 x half>, ptr addrspace(1) %sum.rest.x.from, align 2
  %sum.rest.x.read = fpext <8 x half> %sum.rest.x.stored to <8 x float>
  %sum.rest.x = select i1 %sum.rest.x.exists, <8 x float> %sum.rest.x.read, <8 x float> splat (float 0xFFF0000000000000)
  %sum.all.shifted = fsub <8 x float> %sum.rest.x, %max.splat
  %sum.all.exp = call <8 x float> @llvm.exp.v8f32(<8 x float> %sum.all.shifted)
  %sum.all = fadd <8 x float> %sum.so_far, %sum.all.exp
  %sum.by1 = call float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %sum.all)
  %sum.by1.bits = bitcast float %sum.by1 to i32
  %sum.by1.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by1.bytes, i32 %sum.by1.bits)
  %sum.by1.other = bitcast i32 %sum.by1.other.bits to float
  %sum.by2 = fadd float %sum.by1, %sum.by1.other
  %sum.by2.bits = bitcast float %sum.by2 to i32
  %sum.by2.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by2.bytes, i32 %sum.by2.bits)
  %sum.by2.other = bitcast i32 %sum.by2.other.bits to float
  %sum.by4 = fadd float %sum.by2, %sum.by2.other
  %sum.by4.bits = bitcast float %sum.by4 to i32
  %sum.by4.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by4.bytes, i32 %sum.by4.bits)
  %sum.by4.other = bitcast i32 %sum.by4.other.bits to float
  %sum.by8 = fadd float %sum.by4, %sum.by4.other
  %sum.by8.bits = bitcast float %sum.by8 to i32
  %sum.by8.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by8.bytes, i32 %sum.by8.bits)
  %sum.by8.other = bitcast i32 %sum.by8.other.bits to float
  %sum.by16 = fadd float %sum.by8, %sum.by8.other
  %sum.by16.bits = bitcast float %sum.by16 to i32
  %sum.by16.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by16.bytes, i32 %sum.by16.bits)
  %sum.by16.other = bitcast i32 %sum.by16.other.bits to float
  %sum.by32 = fadd float %sum.by16, %sum.by16.other
  %sum.by32.bits = bitcast float %sum.by32 to i32
  %sum.by32.other.bits = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane.by32.bytes, i32 %sum.by32.bits)
  %sum.by32.other = bitcast i32 %sum.by32.other.bits to float
  %sum.by64 = fadd float %sum.by32, %sum.by32.other
  br i1 %is_first_lane, label %sum.share, label %sum.shared
sum.share:
  %sum.part = getelementptr [1 x [16 x float]], ptr addrspace(3) @sum_parts, i32 0, i32 %row_in_block, i32 %wave_in_row
  store float %sum.by64, ptr addrspace(3) %sum.part, align 4
  br label %sum.shared
sum.shared:
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %sum.parts.at = getelementptr [1 x [16 x float]], ptr addrspace(3) @sum_parts, i32 0, i32 %row_in_block
  %sum.parts = load <16 x float>, ptr addrspace(3) %sum.parts.at, align 16
  %sum = call float @llvm.vector.reduce.fadd.v16f32(float 0.0, <16 x float> %sum.parts)

; ---- epilogue ----------------------------------------------------------------------------------
  %log_sum = call float @llvm.log.f32(float %sum)
  %log_sum.first = insertelement <8 x float> poison, float %log_sum, i32 0
  %log_sum.splat = shufflevector <8 x float> %log_sum.first, <8 x float> poison, <8 x i32> zeroinitializer
  br label %out.entry
out.entry:
  br label %out.loop
out.loop:
  %out.column = phi i32 [ %first_column, %out.entry ], [ %out.column.next, %out.loop ]
  %out.x.offset = zext i32 %out.column to i64
  %out.x.from = getelementptr half, ptr addrspace(1) %x.row, i64 %out.x.offset
  %out.x.stored = load <8 x half>, ptr addrspace(1) %out.x.from, align 2
  %out.x = fpext <8 x half> %out.x.stored to <8 x float>
  %out.whole.shifted = fsub <8 x float> %out.x, %max.splat
  %out.whole.result = fsub <8 x float> %out.whole.shifted, %log_sum.splat
  %out.whole.rounded = fptrunc <8 x float> %out.whole.result to <8 x half>
  %out.whole.offset = zext i32 %out.column to i64
  %out.whole.to = getelementptr half, ptr addrspace(1) %out.row, i64 %out.whole.offset
  store <8 x half> %out.whole.rounded, ptr addrspace(1) %out.whole.to, align 2
  %out.column.next = add nuw nsw i32 %out.column, 8192
  %out.more = icmp ult i32 %out.column.next, 49152
  br i1 %out.more, label %out.loop, label %out.rest
out.rest:
  %out.rest.column = add nuw nsw i32 %first_column, 49152
  %out.rest.x.exists = icmp ult i32 %out.rest.column, 50000
  %out.rest.x.column = select i1 %out.rest.x.exists, i32 %out.rest.column, i32 0
  %out.rest.x.offset = zext i32 %out.rest.x.column to i64
  %out.rest.x.from = getelementptr half, ptr addrspace(1) %x.row, i64 %out.rest.x.offset
  %out.rest.x.stored = load <8 x half>, ptr addrspace(1) %out.rest.x.from, align 2
  %out.rest.x.read = fpext <8 x half> %out.rest.x.stored to <8 x float>
  %out.rest.x = select i1 %out.rest.x.exists, <8 x float> %out.rest.x.read, <8 x float> splat (float 0xFFF0000000000000)
  %out.last.shifted = fsub <8 x float> %out.rest.x, %max.splat
  br i1 %out.rest.x.exists, label %out.last.inside, label %out.last.done
out.last.inside:
  %out.last.result = fsub <8 x float> %out.last.shifted, %log_sum.splat
  %out.last.rounded = fptrunc <8 x float> %out.last.result to <8 x half>
  %out.last.offset = zext i32 %out.rest.column to i64
  %out.last.to = getelementptr half, ptr addrspace(1) %out.row, i64 %out.last.offset
  store <8 x half> %out.last.rounded, ptr addrspace(1) %out.last.to, align 2
  br label %out.last.done
out.last.done:

; ---- exit --------------------------------------------------------------------------------------
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <8 x float> @llvm.exp.v8f32(<8 x float>)
declare float @llvm.maxnum.f32(float, float)
declare <8 x float> @llvm.maxnum.v8f32(<8 x float>, <8 x float>)
declare float @llvm.vector.reduce.fmax.v8f32(<8 x float>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
declare float @llvm.vector.reduce.fmax.v16f32(<16 x float>)
declare float @llvm.vector.reduce.fadd.v16f32(float, <16 x float>)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare void @llvm.amdgcn.s.barrier()
declare float @llvm.log.f32(float)

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="1024,1024"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5: what ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
; What the fences order: LDS, not global memory.
!1 = !{!"amdgpu-synchronize-as", !"local"}
