"""Contractions on all GPU families: operand access, launch grid, tile order, split-k, stream-k."""
