"""Benchmark programs, and their results as data: see benchmarks/README.md."""
