"""Preparation of a launch: arguments, CTAs per chunk, cached machines."""
