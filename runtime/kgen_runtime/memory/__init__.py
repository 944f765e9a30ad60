"""Tensors in memory: other libraries' arrays, addresses, overlaps, packed layouts."""
