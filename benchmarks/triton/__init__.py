"""Instruction counts of GPU kernels of kgen and of Triton."""
