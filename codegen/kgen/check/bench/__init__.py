"""Benchmarks: kernels and libraries (peers) timed side by side."""
