"""Plans of kernels, one file per template, and their helpers; row-wise kernels have a folder."""
