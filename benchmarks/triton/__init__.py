"""Instructions of GPU kernels beside those of Triton's."""
