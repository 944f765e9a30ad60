"""Packed operands: their order in memory, and how kernels and builds produce it."""
