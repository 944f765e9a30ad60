; concat_gather_8x12_f32
;
; computes:  out = concat(transpose(x), gather(table, index, 0), 0)
; target:    gfx942
; schedule:  mainloop=stream,num_threads=256,vector=2,unroll=1 (user)
; launch:    1 x 1 x 1 workgroups of 256 threads, waves of 64
; method:    48 vectors of 2 elements
; arguments: x: input f32[12, 5], strides [5, 1]
;            table: input f32[9, 12], strides [12, 1]
;            index: input s32[3], strides [1]
;            out: output f32[8, 12], strides [12, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @concat_gather_8x12_f32(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias readonly %table.ptr,
    ptr addrspace(1) inreg noalias readonly %index.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %block.wide = zext i32 %block to i64
  %block.first = mul nuw nsw i64 %block.wide, 256

; ---- mainloop: out = concat(transpose(x), gather(table, index, 0), 0)
; 48 vectors of 2 elements, 256 per workgroup
  %v0.in_block.wide = zext i32 %thread to i64
  %v0.index = add nuw nsw i64 %block.first, %v0.in_block.wide
  %v0.exists = icmp ult i64 %v0.index, 48
  br i1 %v0.exists, label %v0.inside, label %v0.done
v0.inside:
  %v0.offset = mul nuw nsw i64 %v0.index, 2
  %v0.at0 = udiv i64 %v0.index, 6
  %v0.at1 = urem i64 %v0.index, 6
  %v0.within_1.past = sub i64 %v0.at0, 5
  %v0.within_1.holds = icmp ult i64 %v0.within_1.past, 3
  %v0.within_1.lane = insertelement <2 x i1> poison, i1 %v0.within_1.holds, i32 0
  %v0.within_1 = shufflevector <2 x i1> %v0.within_1.lane, <2 x i1> poison, <2 x i32> zeroinitializer
  %v0.index_2.sum0 = add i64 -5, %v0.at0
  %v0.index_2.guarded0 = select i1 %v0.within_1.holds, i64 %v0.index_2.sum0, i64 0
  %v0.index_2.from = getelementptr i32, ptr addrspace(1) %index.ptr, i64 %v0.index_2.guarded0
  %v0.index_2.stored = load i32, ptr addrspace(1) %v0.index_2.from, align 4
  %v0.index_2 = sext i32 %v0.index_2.stored to i64
  %v0.within_2.negative = icmp slt i64 %v0.index_2, 0
  %v0.within_2.behind = add i64 %v0.index_2, 9
  %v0.within_2.place = select i1 %v0.within_2.negative, i64 %v0.within_2.behind, i64 %v0.index_2
  %v0.within_2.holds = icmp ult i64 %v0.within_2.place, 9
  %v0.within_2.lane = insertelement <2 x i1> poison, i1 %v0.within_2.holds, i32 0
  %v0.within_2 = shufflevector <2 x i1> %v0.within_2.lane, <2 x i1> poison, <2 x i32> zeroinitializer
  %v0.within_3.holds = icmp ult i64 %v0.at0, 5
  %v0.within_3.lane = insertelement <2 x i1> poison, i1 %v0.within_3.holds, i32 0
  %v0.within_3 = shufflevector <2 x i1> %v0.within_3.lane, <2 x i1> poison, <2 x i32> zeroinitializer
  %v0.x.term1 = mul i64 %v0.at1, 10
  %v0.x.sum1 = add i64 %v0.at0, %v0.x.term1
  %v0.x.guarded0 = select i1 %v0.within_3.holds, i64 %v0.x.sum1, i64 0
  %v0.x.from0 = getelementptr float, ptr addrspace(1) %x.ptr, i64 %v0.x.guarded0
  %v0.x.one0 = load float, ptr addrspace(1) %v0.x.from0, align 4
  %v0.x.up_to0 = insertelement <2 x float> poison, float %v0.x.one0, i32 0
  %v0.x.from1 = getelementptr float, ptr addrspace(1) %v0.x.from0, i64 5
  %v0.x.one1 = load float, ptr addrspace(1) %v0.x.from1, align 4
  %v0.x = insertelement <2 x float> %v0.x.up_to0, float %v0.x.one1, i32 1
  %v0.table.term0 = mul i64 %v0.at1, 2
  %v0.table.term1 = mul i64 %v0.within_2.place, 12
  %v0.table.sum1 = add i64 %v0.table.term0, %v0.table.term1
  %v0.table.guarded0 = select i1 %v0.within_1.holds, i64 %v0.table.sum1, i64 0
  %v0.table.guarded1 = select i1 %v0.within_2.holds, i64 %v0.table.guarded0, i64 0
  %v0.table.from = getelementptr float, ptr addrspace(1) %table.ptr, i64 %v0.table.guarded1
  %v0.table = load <2 x float>, ptr addrspace(1) %v0.table.from, align 4
  %v0.out_select = select <2 x i1> %v0.within_2, <2 x float> %v0.table, <2 x float> splat (float 0x0000000000000000)
  %v0.out = select <2 x i1> %v0.within_3, <2 x float> %v0.x, <2 x float> %v0.out_select
  %v0.to = getelementptr float, ptr addrspace(1) %out.ptr, i64 %v0.offset
  store <2 x float> %v0.out, ptr addrspace(1) %v0.to, align 4
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
