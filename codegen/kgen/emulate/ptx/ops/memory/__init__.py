"""Loads, stores, atomics and asynchronous copies (PTX ISA 9.7.9 and 9.7.13.5)."""
