"""Verification: seeded inputs, samples of the output, comparison with the reference."""
