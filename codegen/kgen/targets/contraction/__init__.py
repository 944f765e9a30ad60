"""Contractions on all GPU families: operand access, launch grid, tile order, shares of K."""
