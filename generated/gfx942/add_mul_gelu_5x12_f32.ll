; add_mul_gelu_5x12_f32
;
; computes:  out = gelu(x + bias) * scale + residual
; target:    gfx942
; schedule:  mainloop=stream,num_threads=256,vector=2,unroll=1 (user)
; launch:    1 x 1 x 1 workgroups of 256 threads, waves of 64
; method:    30 vectors of 2 elements
; arguments: x: input f32[5, 12], strides [12, 1]
;            bias: input f32[12], strides [1]
;            scale: input f32[1], strides [1]
;            residual: input f32[5, 12], strides [12, 1]
;            out: output f32[5, 12], strides [12, 1]

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @add_mul_gelu_5x12_f32(
    ptr addrspace(1) inreg noalias readonly %x.ptr,
    ptr addrspace(1) inreg noalias readonly %bias.ptr,
    ptr addrspace(1) inreg noalias readonly %scale.ptr,
    ptr addrspace(1) inreg noalias readonly %residual.ptr,
    ptr addrspace(1) inreg noalias writeonly %out.ptr
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %block.wide = zext i32 %block to i64
  %block.first = mul nuw nsw i64 %block.wide, 256

; ---- mainloop: out = gelu(x + bias) * scale + residual
; 30 vectors of 2 elements, 256 per workgroup
  %v0.in_block.wide = zext i32 %thread to i64
  %v0.index = add nuw nsw i64 %block.first, %v0.in_block.wide
  %v0.exists = icmp ult i64 %v0.index, 30
  br i1 %v0.exists, label %v0.inside, label %v0.done
v0.inside:
  %v0.offset = mul nuw nsw i64 %v0.index, 2
  %v0.at1 = urem i64 %v0.index, 6
  %v0.x.from = getelementptr float, ptr addrspace(1) %x.ptr, i64 %v0.offset
  %v0.x = load <2 x float>, ptr addrspace(1) %v0.x.from, align 4
  %v0.bias.sum1 = mul nuw nsw i64 %v0.at1, 2
  %v0.bias.from = getelementptr float, ptr addrspace(1) %bias.ptr, i64 %v0.bias.sum1
  %v0.bias = load <2 x float>, ptr addrspace(1) %v0.bias.from, align 4
  %v0.scale.one = load float, ptr addrspace(1) %scale.ptr, align 4
  %v0.scale.lane = insertelement <2 x float> poison, float %v0.scale.one, i32 0
  %v0.scale = shufflevector <2 x float> %v0.scale.lane, <2 x float> poison, <2 x i32> zeroinitializer
  %v0.residual.from = getelementptr float, ptr addrspace(1) %residual.ptr, i64 %v0.offset
  %v0.residual = load <2 x float>, ptr addrspace(1) %v0.residual.from, align 4
  %v0.out_add = fadd contract <2 x float> %v0.x, %v0.bias
  %v0.out_less = fcmp olt <2 x float> %v0.out_add, splat (float 0x0000000000000000)
  %v0.out_abs = call <2 x float> @llvm.fabs.v2f32(<2 x float> %v0.out_add)
  %v0.out_fma = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_abs, <2 x float> splat (float 0x3FD301CCC0000000), <2 x float> splat (float 0x3FF0000000000000))
  %v0.out_reciprocal = fdiv afn <2 x float> splat (float 0x3FF0000000000000), %v0.out_fma
  %v0.out_fma2 = call <2 x float> @llvm.fma.v2f32(<2 x float> splat (float 0x3FA4115EE0000000), <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0xBFC6D85600000000))
  %v0.out_fma3 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_fma2, <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0x3FD054AAC0000000))
  %v0.out_fma4 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_fma3, <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0xBFBA02E440000000))
  %v0.out_fma5 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_fma4, <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0x3FC41C16E0000000))
  %v0.out_fma6 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_fma5, <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0x3FB6B1DA00000000))
  %v0.out_fma7 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_fma6, <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0x3FBF2D6100000000))
  %v0.out_fma8 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_fma7, <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0x3FBE3FF3C0000000))
  %v0.out_fma9 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v0.out_fma8, <2 x float> %v0.out_reciprocal, <2 x float> splat (float 0x3EEB34B580000000))
  %v0.out_mul = fmul contract <2 x float> %v0.out_add, %v0.out_add
  %v0.out_mul2 = fmul contract <2 x float> %v0.out_mul, splat (float 0xBFE7154760000000)
  %v0.out_exp2 = call <2 x float> @exp2.v2f32(<2 x float> %v0.out_mul2)
  %v0.out_mul3 = fmul contract <2 x float> %v0.out_fma9, %v0.out_exp2
  %v0.out_sub = fsub contract <2 x float> splat (float 0x3FF0000000000000), %v0.out_mul3
  %v0.out_select = select <2 x i1> %v0.out_less, <2 x float> %v0.out_mul3, <2 x float> %v0.out_sub
  %v0.out_mul4 = fmul contract <2 x float> %v0.out_add, %v0.out_select
  %v0.out_mul5 = fmul contract <2 x float> %v0.out_mul4, %v0.scale
  %v0.out = fadd contract <2 x float> %v0.out_mul5, %v0.residual
  %v0.to = getelementptr float, ptr addrspace(1) %out.ptr, i64 %v0.offset
  store <2 x float> %v0.out, ptr addrspace(1) %v0.to, align 4
  br label %v0.done
v0.done:

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <2 x float> @llvm.fabs.v2f32(<2 x float>)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
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
