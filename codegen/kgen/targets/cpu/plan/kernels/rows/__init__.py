"""Rows: the plans of three templates (whole, interleaved, split rows) and what these share."""
