"""Race detection in LDS and global memory, by vector clocks under LLVM's AMDGPU memory model."""
