"""Expressions of specifications: as text, their functions' definitions, and evaluating them."""
