"""Expressions of specs: parsing, definitions of functions, and evaluation."""
