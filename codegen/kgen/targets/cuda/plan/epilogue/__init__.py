"""Epilogues from accumulators to the output: steps, shared-memory staging, TMA stores."""
