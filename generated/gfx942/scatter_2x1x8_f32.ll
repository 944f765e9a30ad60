; scatter_2x1x8_f32
;
; computes:  out = scatter(cache, pos, rows, 1)
; target:    gfx942
; schedule:  mainloop=stream,num_threads=256,vector=2,unroll=1 (user)
; launch:    1 x 1 x 1 workgroups of 256 threads, waves of 64
; method:    8 vectors of 2 elements
; arguments: cache: input f32[2, 12, 8], strides [96, 8, 1]
;            pos: input s64[1], strides [1]
;            rows: input f32[2, 1, 8], strides [8, 8, 1]
;            out: output f32[2, 12, 8], strides [96, 8, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @scatter_2x1x8_f32(
    ptr addrspace(1) inreg noalias readonly %cache.ptr,
    ptr addrspace(1) inreg noalias readonly %pos.ptr,
    ptr addrspace(1) inreg noalias readonly %rows.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %block.wide = zext i32 %block to i64
  %block.first = mul nuw nsw i64 %block.wide, 256

; ---- mainloop: out = scatter(cache, pos, rows, 1)
; 8 vectors of 2 elements, 256 per workgroup
  %v0.in_block.wide = zext i32 %thread to i64
  %v0.index = add nuw nsw i64 %block.first, %v0.in_block.wide
  %v0.exists = icmp ult i64 %v0.index, 8
  br i1 %v0.exists, label %v0.inside, label %v0.done
v0.inside:
  %v0.offset = mul nuw nsw i64 %v0.index, 2
  %v0.at0 = udiv i64 %v0.index, 4
  %v0.at1 = urem i64 %v0.index, 4
  %v0.pos = load i64, ptr addrspace(1) %pos.ptr, align 8
  %v0.within_1.negative = icmp slt i64 %v0.pos, 0
  %v0.within_1.behind = add i64 %v0.pos, 12
  %v0.within_1.place = select i1 %v0.within_1.negative, i64 %v0.within_1.behind, i64 %v0.pos
  %v0.within_1.holds = icmp ult i64 %v0.within_1.place, 12
  %v0.within_1.lane = insertelement <2 x i1> poison, i1 %v0.within_1.holds, i32 0
  %v0.within_1 = shufflevector <2 x i1> %v0.within_1.lane, <2 x i1> poison, <2 x i32> zeroinitializer
  %v0.rows.from = getelementptr float, ptr addrspace(1) %rows.ptr, i64 %v0.offset
  %v0.rows = load <2 x float>, ptr addrspace(1) %v0.rows.from, align 4
  br i1 %v0.within_1.holds, label %v0.write, label %v0.written
v0.write:
  %v0.to.term0 = mul i64 %v0.at0, 96
  %v0.to.term1 = mul i64 %v0.at1, 2
  %v0.to.sum1 = add i64 %v0.to.term0, %v0.to.term1
  %v0.to.term2 = mul i64 %v0.within_1.place, 8
  %v0.to.sum2 = add i64 %v0.to.sum1, %v0.to.term2
  %v0.to = getelementptr float, ptr addrspace(1) %out.ptr, i64 %v0.to.sum2
  store <2 x float> %v0.rows, ptr addrspace(1) %v0.to, align 4
  br label %v0.written
v0.written:
  br label %v0.done
v0.done:

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="256,256"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
