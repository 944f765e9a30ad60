; mul_silu_3x100_bf16
;
; computes:  out = silu(gate) * up
; target:    gfx942
; schedule:  mainloop=stream,num_threads=256,vector=2,unroll=1 (user)
; launch:    1 x 1 x 1 workgroups of 256 threads, waves of 64
; method:    150 vectors of 2 elements
; arguments: gate: input bf16[3, 100], strides [100, 1]
;            up: input bf16[3, 100], strides [100, 1]
;            out: output bf16[3, 100], strides [100, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @mul_silu_3x100_bf16(
    ptr addrspace(1) inreg noalias readonly %gate.ptr,
    ptr addrspace(1) inreg noalias readonly %up.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %block.wide = zext i32 %block to i64
  %block.first = mul nuw nsw i64 %block.wide, 256

; ---- mainloop: out = silu(gate) * up
; 150 vectors of 2 elements, 256 per workgroup
  %v0.in_block.wide = zext i32 %thread to i64
  %v0.index = add nuw nsw i64 %block.first, %v0.in_block.wide
  %v0.exists = icmp ult i64 %v0.index, 150
  br i1 %v0.exists, label %v0.inside, label %v0.done
v0.inside:
  %v0.offset = mul nuw nsw i64 %v0.index, 2
  %v0.gate.from = getelementptr bfloat, ptr addrspace(1) %gate.ptr, i64 %v0.offset
  %v0.gate.stored = load <2 x bfloat>, ptr addrspace(1) %v0.gate.from, align 2
  %v0.gate = fpext <2 x bfloat> %v0.gate.stored to <2 x float>
  %v0.up.from = getelementptr bfloat, ptr addrspace(1) %up.ptr, i64 %v0.offset
  %v0.up.stored = load <2 x bfloat>, ptr addrspace(1) %v0.up.from, align 2
  %v0.up = fpext <2 x bfloat> %v0.up.stored to <2 x float>
  %v0.out_mul = fmul contract <2 x float> %v0.gate, splat (float 0xBFF7154760000000)
  %v0.out_exp2 = call <2 x float> @exp2.v2f32(<2 x float> %v0.out_mul)
  %v0.out_add = fadd contract <2 x float> %v0.out_exp2, splat (float 0x3FF0000000000000)
  %v0.out_reciprocal = fdiv afn <2 x float> splat (float 0x3FF0000000000000), %v0.out_add
  %v0.out_mul2 = fmul contract <2 x float> %v0.gate, %v0.out_reciprocal
  %v0.out = fmul contract <2 x float> %v0.out_mul2, %v0.up
  %v0.to = getelementptr bfloat, ptr addrspace(1) %out.ptr, i64 %v0.offset
  %v0.rounded = fptrunc <2 x float> %v0.out to <2 x bfloat>
  store <2 x bfloat> %v0.rounded, ptr addrspace(1) %v0.to, align 2
  br label %v0.done
v0.done:

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.amdgcn.exp2.f32(float)

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
  "amdgpu-flat-work-group-size"="256,256"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}
attributes #1 = { alwaysinline nounwind "target-cpu"="gfx942" }

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
