"""Choosing a schedule: block sizes, the way of multiplying, the neighbours that tuning compares."""
