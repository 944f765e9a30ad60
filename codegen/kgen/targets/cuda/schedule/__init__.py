"""Choice of a schedule: candidates, the work that they do, the cost model, the choice."""
