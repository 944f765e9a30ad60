"""One file per template, and what only these kernels need; rows have a room of their own."""
