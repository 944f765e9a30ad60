; softmax_5x70_f16 for gfx942
;
; out = exp(x - max(x)) / sum(exp(x - max(x))), row by row
;   x         input  f16, 5 x 70 elements, strides 70, 1
;   out       output f16, 5 x 70 elements, strides 70, 1
;
; schedule: mainloop=row,num_threads=128,rows_per_block=8,vector=2,resident=1 (model)
; launch:   1 x 1 x 1 workgroups of 128 threads (waves of 64)
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @softmax_5x70_f16(
    ptr addrspace(1) noalias readonly %x,
    ptr addrspace(1) noalias writeonly %out
) #0 {

; ---- addresses ---------------------------------------------------------------------------------
entry:
  %thread = call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %lane = and i32 %thread, 63
  %row_in_block = udiv i32 %thread, 16
  %in_row = urem i32 %thread, 16
  %first_column = mul nuw nsw i32 %in_row, 2
  %block.first_row = mul nuw nsw i32 %block, 8
  %row = add nuw nsw i32 %block.first_row, %row_in_block
  %row.exists = icmp ult i32 %row, 5
  %row.read = select i1 %row.exists, i32 %row, i32 4
  %row.wide = zext i32 %row.read to i64
  %row.offset = mul nuw nsw i64 %row.wide, 70
  %x.row = getelementptr half, ptr addrspace(1) %x, i64 %row.offset
  %out.row = getelementptr half, ptr addrspace(1) %out, i64 %row.offset
  ; the lanes to exchange with, as ds_bpermute wants them: in bytes
  %lane.by1 = xor i32 %lane, 1
  %lane.by1.bytes = shl nuw nsw i32 %lane.by1, 2
  %lane.by2 = xor i32 %lane, 2
  %lane.by2.bytes = shl nuw nsw i32 %lane.by2, 2
  %lane.by4 = xor i32 %lane, 4
  %lane.by4.bytes = shl nuw nsw i32 %lane.by4, 2
  %lane.by8 = xor i32 %lane, 8
  %lane.by8.bytes = shl nuw nsw i32 %lane.by8, 2

; ---- prologue: the row, and its maximum --------------------------------------------------------
  %column0 = add nuw nsw i32 %first_column, 0
  %x0.offset = zext i32 %column0 to i64
  %x0.from = getelementptr half, ptr addrspace(1) %x.row, i64 %x0.offset
  %x0.stored = load <2 x half>, ptr addrspace(1) %x0.from, align 2
  %x0 = fpext <2 x half> %x0.stored to <2 x float>
  %column1 = add nuw nsw i32 %first_column, 32
  %x1.offset = zext i32 %column1 to i64
  %x1.from = getelementptr half, ptr addrspace(1) %x.row, i64 %x1.offset
  %x1.stored = load <2 x half>, ptr addrspace(1) %x1.from, align 2
  %x1 = fpext <2 x half> %x1.stored to <2 x float>
  %max1 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %x0, <2 x float> %x1)
  %column2 = add nuw nsw i32 %first_column, 64
  %x2.exists = icmp ult i32 %column2, 70
  %x2.column = select i1 %x2.exists, i32 %column2, i32 0
  %x2.offset = zext i32 %x2.column to i64
  %x2.from = getelementptr half, ptr addrspace(1) %x.row, i64 %x2.offset
  %x2.stored = load <2 x half>, ptr addrspace(1) %x2.from, align 2
  %x2.read = fpext <2 x half> %x2.stored to <2 x float>
  %x2 = select i1 %x2.exists, <2 x float> %x2.read, <2 x float> splat (float 0xFFF0000000000000)
  %max2 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %max1, <2 x float> %x2)
  %max.by1 = call float @llvm.vector.reduce.fmax.v2f32(<2 x float> %max2)
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
  %max = call float @llvm.maxnum.f32(float %max.by8, float %max.by8.other)
  %max.first = insertelement <2 x float> poison, float %max, i32 0
  %max.splat = shufflevector <2 x float> %max.first, <2 x float> poison, <2 x i32> zeroinitializer

; ---- mainloop: exponentials and their sum ------------------------------------------------------
  %shifted0 = fsub <2 x float> %x0, %max.splat
  %exp0 = call <2 x float> @llvm.exp.v2f32(<2 x float> %shifted0)
  %shifted1 = fsub <2 x float> %x1, %max.splat
  %exp1 = call <2 x float> @llvm.exp.v2f32(<2 x float> %shifted1)
  %sum1 = fadd <2 x float> %exp0, %exp1
  %shifted2 = fsub <2 x float> %x2, %max.splat
  %exp2 = call <2 x float> @llvm.exp.v2f32(<2 x float> %shifted2)
  %sum2 = fadd <2 x float> %sum1, %exp2
  %sum.by1 = call float @llvm.vector.reduce.fadd.v2f32(float 0.0, <2 x float> %sum2)
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
  %sum = fadd float %sum.by8, %sum.by8.other

; ---- epilogue ----------------------------------------------------------------------------------
  %scale = fdiv float 1.0, %sum
  %scale.first = insertelement <2 x float> poison, float %scale, i32 0
  %scale.splat = shufflevector <2 x float> %scale.first, <2 x float> poison, <2 x i32> zeroinitializer
  br i1 %row.exists, label %out0.inside, label %out0.done
out0.inside:
  %out0.result = fmul <2 x float> %exp0, %scale.splat
  %out0.rounded = fptrunc <2 x float> %out0.result to <2 x half>
  %out0.offset = zext i32 %column0 to i64
  %out0.to = getelementptr half, ptr addrspace(1) %out.row, i64 %out0.offset
  store <2 x half> %out0.rounded, ptr addrspace(1) %out0.to, align 2
  br label %out0.done
out0.done:
  br i1 %row.exists, label %out1.inside, label %out1.done
out1.inside:
  %out1.result = fmul <2 x float> %exp1, %scale.splat
  %out1.rounded = fptrunc <2 x float> %out1.result to <2 x half>
  %out1.offset = zext i32 %column1 to i64
  %out1.to = getelementptr half, ptr addrspace(1) %out.row, i64 %out1.offset
  store <2 x half> %out1.rounded, ptr addrspace(1) %out1.to, align 2
  br label %out1.done
out1.done:
  %out2.stored = and i1 %row.exists, %x2.exists
  br i1 %out2.stored, label %out2.inside, label %out2.done
out2.inside:
  %out2.result = fmul <2 x float> %exp2, %scale.splat
  %out2.rounded = fptrunc <2 x float> %out2.result to <2 x half>
  %out2.offset = zext i32 %column2 to i64
  %out2.to = getelementptr half, ptr addrspace(1) %out.row, i64 %out2.offset
  store <2 x half> %out2.rounded, ptr addrspace(1) %out2.to, align 2
  br label %out2.done
out2.done:

; ---- exit --------------------------------------------------------------------------------------
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <2 x float> @llvm.exp.v2f32(<2 x float>)
declare float @llvm.maxnum.f32(float, float)
declare <2 x float> @llvm.maxnum.v2f32(<2 x float>, <2 x float>)
declare float @llvm.vector.reduce.fmax.v2f32(<2 x float>)
declare float @llvm.vector.reduce.fadd.v2f32(float, <2 x float>)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="128,128"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5: what ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
