"""Measuring: kernels and peers timed side by side."""
