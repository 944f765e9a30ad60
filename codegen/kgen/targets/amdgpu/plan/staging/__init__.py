"""Copies of operands from memory to LDS, through registers or direct: chunks and layouts."""
