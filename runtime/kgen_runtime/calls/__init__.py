"""Calls of loaded kernels and programs: argument checks, memory and launch."""
