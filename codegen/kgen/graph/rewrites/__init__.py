"""Rewrites of a graph before fusion that keep its results."""
