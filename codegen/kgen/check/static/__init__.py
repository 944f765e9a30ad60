"""Static analysis of a kernel's machine code."""
