"""Execution of a chunk of workgroups in lockstep: the machine, control flow, turns of waves."""
