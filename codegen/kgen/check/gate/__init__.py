"""Performance gate: static and emulated costs of kernels against budgets, without GPU or noise."""
