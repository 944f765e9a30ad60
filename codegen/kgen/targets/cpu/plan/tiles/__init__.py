"""Register tiles of vectors: their sums, the instructions that add to them, the last reduction."""
