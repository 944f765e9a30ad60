; relu_3x1000_f16
;
; computes:  out = relu(x)
; target:    gfx942
; schedule:  mainloop=stream,num_threads=256,vector=8,unroll=1 (model)
; launch:    2 x 1 x 1 workgroups of 256 threads, waves of 64
; method:    375 vectors of 8 elements
; arguments: x: input f16[3, 1000], strides [1000, 1]
;            out: output f16[3, 1000], strides [1000, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @relu_3x1000_f16(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %block.wide = zext i32 %block to i64
  %block.first = mul nuw nsw i64 %block.wide, 256

; ---- mainloop: out = relu(x)
; 375 vectors of 8 elements, 256 per workgroup
  %v0.in_block.wide = zext i32 %thread to i64
  %v0.index = add nuw nsw i64 %block.first, %v0.in_block.wide
  %v0.exists = icmp ult i64 %v0.index, 375
  br i1 %v0.exists, label %v0.inside, label %v0.done
v0.inside:
  %v0.offset = mul nuw nsw i64 %v0.index, 8
  %v0.x.from = getelementptr half, ptr addrspace(1) %x.ptr, i64 %v0.offset
  %v0.x = load <8 x half>, ptr addrspace(1) %v0.x.from, align 2
  %v0.out_less_equal = fcmp ole <8 x half> %v0.x, splat (half 0xH0000)
  %v0.out = select <8 x i1> %v0.out_less_equal, <8 x half> splat (half 0xH0000), <8 x half> %v0.x
  %v0.to = getelementptr half, ptr addrspace(1) %out.ptr, i64 %v0.offset
  store <8 x half> %v0.out, ptr addrspace(1) %v0.to, align 2
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
