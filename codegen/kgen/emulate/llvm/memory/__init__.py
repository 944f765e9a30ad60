"""Memories of an LLVM IR launch: global memory, LDS, private memory and stack, flat pointers."""
