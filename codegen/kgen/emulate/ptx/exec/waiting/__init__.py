"""Waiting lanes: barriers of CTAs and clusters, warp collectives, asynchronous operations."""
