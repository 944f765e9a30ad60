"""Products by mma.sync: the instruction, its fragments, the launch and the limits."""
