"""Attention on tensor cores: its common plan, and the one of warpgroups."""
