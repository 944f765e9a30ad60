"""CPU kernels beside libraries."""
