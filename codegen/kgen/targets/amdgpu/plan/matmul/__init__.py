"""Matmul main loops, one file each, and their shared parts: the K loop, sharing of K, the
epilogue."""
