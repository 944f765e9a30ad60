"""Address spaces: global memory, LDS, flat pointers, bytes to values and back."""
