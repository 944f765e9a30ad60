"""Choosing a schedule: candidates, their work, the cost model, the choice."""
