"""Shared plan values of attention: heads as matrices, limits of keys, units of scores."""
