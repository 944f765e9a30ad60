"""Split-k and stream-k: partial sums and their addition."""
