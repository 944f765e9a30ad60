"""Contractions on all GPU families: the launch grid, the order of block tiles, sharing of K."""
