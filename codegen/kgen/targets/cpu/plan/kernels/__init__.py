"""One file per template, and what only these kernels need."""
