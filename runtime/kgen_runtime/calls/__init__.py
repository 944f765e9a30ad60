"""Calling a loaded kernel or program: its arguments, its memory, its launch."""
