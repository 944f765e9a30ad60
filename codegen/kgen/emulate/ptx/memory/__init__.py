"""State spaces of memory, and the checks on every access: bounds, alignment, conflicting values."""
