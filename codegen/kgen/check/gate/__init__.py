"""The performance gate: what a kernel costs, held against a budget, with no GPU and no noise."""
