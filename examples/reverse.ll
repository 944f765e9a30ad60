; reverse.ll
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [128 x float] poison, align 16
define amdgpu_kernel void @reverse(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 128
  %i = add i32 %base, %thread
  %source = getelementptr float, ptr addrspace(1) %in, i32 %i
  %value = load float, ptr addrspace(1) %source
  %slot = getelementptr float, ptr addrspace(3) @tile, i32 %thread
  store float %value, ptr addrspace(3) %slot
  call void @llvm.amdgcn.s.barrier()
  %last = sub i32 127, %thread
  %other = getelementptr float, ptr addrspace(3) @tile, i32 %last
  %reversed = load float, ptr addrspace(3) %other
  %destination = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %reversed, ptr addrspace(1) %destination
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
attributes #0 = { "target-cpu"="gfx942" }
