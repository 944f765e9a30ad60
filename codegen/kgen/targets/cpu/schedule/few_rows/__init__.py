"""Products of a few rows of A, by where B lies and what reads it fastest from there."""
