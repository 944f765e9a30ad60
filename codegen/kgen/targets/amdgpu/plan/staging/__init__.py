"""Copies of operands from memory to LDS, through registers or directly: chunks and layouts."""
