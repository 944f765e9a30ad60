"""Constants of the functions that kernels compute."""
