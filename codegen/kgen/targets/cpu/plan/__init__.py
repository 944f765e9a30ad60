"""Plans: every derived integer of a CPU kernel, one file per template."""
