"""Kernels' specs of a fused graph, and the buffers that they are bound to."""
