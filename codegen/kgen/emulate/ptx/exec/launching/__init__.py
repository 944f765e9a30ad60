"""A launch before it runs: its arguments, how many CTAs at a time, machines that are kept."""
