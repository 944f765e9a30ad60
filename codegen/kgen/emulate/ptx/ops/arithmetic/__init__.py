"""Arithmetic, comparison, conversion and moves between registers (PTX ISA 9.7.1 to 9.7.8)."""
