"""Memory spaces and the checks on every access: bounds, alignment, same values."""
