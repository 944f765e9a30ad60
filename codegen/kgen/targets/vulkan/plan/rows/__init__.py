"""Row-wise kernels: one row for each group of invocations."""
