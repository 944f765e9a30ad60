"""Execution of a chunk of CTAs in lockstep: machine state and scheduler."""
