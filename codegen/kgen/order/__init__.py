"""Order of a program's steps: which of them touch the same memory, and which wait for which."""
