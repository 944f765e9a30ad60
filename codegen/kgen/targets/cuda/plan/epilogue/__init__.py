"""From accumulators to the output: steps, shared-memory staging, TMA stores."""
