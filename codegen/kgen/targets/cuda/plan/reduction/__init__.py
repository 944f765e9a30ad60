"""Split-k and stream-k: partial sums, and who adds them."""
