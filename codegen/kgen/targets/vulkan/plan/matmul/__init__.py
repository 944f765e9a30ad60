"""Matmuls: operands, outputs and epilogue, and a plan for each main loop."""
