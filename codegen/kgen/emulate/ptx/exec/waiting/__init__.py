"""Lanes that wait: barriers of CTAs and clusters, warp collectives, asynchronous work."""
