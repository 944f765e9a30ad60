"""Row-wise expressions: their phases, and what the lanes of a row exchange."""
