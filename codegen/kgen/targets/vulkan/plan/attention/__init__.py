"""Attention: rows, ranges of keys, and the plan of the kernel."""
